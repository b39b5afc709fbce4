"""Links with which a person sets a password, without being logged in: Django's tokens and its page."""

from typing import Any

from axes.models import AccessAttempt
from django.contrib import messages
from django.contrib.auth.models import User
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.contrib.auth.views import INTERNAL_RESET_SESSION_TOKEN, PasswordResetConfirmView
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse, reverse_lazy
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from petservice.accounts import services
from petservice.accounts.models import Account
from petservice.admin_pages.staff_page import failure_page, staff_page
from petservice.journal.models import Event
from petservice.journal.recording import add_event
from petservice.sign_in import login_view


class _Tokens(PasswordResetTokenGenerator):
    """A generator of tokens that belong to the newest link of an account, and work until its password changes."""

    def _make_hash_value(self, user: Any, timestamp: int) -> str:
        # Without the last login, because the present password goes on working until a new one is set.
        link = user.password_links.last()
        return f"{user.pk}{user.password}{user.is_active}{link and link.form_token}{timestamp}"


_tokens = _Tokens()


def url_of_newest_link(request: HttpRequest, account: User) -> str:
    """Return the URL of the newest link of an account."""
    arguments = [urlsafe_base64_encode(force_bytes(account.pk)), _tokens.make_token(account)]
    return request.build_absolute_uri(reverse("password-link", args=arguments))


class SetPasswordView(PasswordResetConfirmView):
    """Django's page for a new password, which redirects to a URL without the token."""

    template_name = "accounts/set_password.html"
    title = "Set a password"
    token_generator = _tokens
    success_url = reverse_lazy("admin:login")

    def form_valid(self, form: Any) -> HttpResponse:
        # Before the transaction, because hashing is slow, and SQLite has one writer.
        user: User = form.save(commit=False)
        with transaction.atomic():
            services.lock()
            account = Account.objects.get(pk=user.pk)
            if not _tokens.check_token(account, self.request.session.get(INTERNAL_RESET_SESSION_TOKEN)):
                return _failure()  # another request has just used or replaced the link
            user.save(update_fields=["password"])
            AccessAttempt.objects.filter(username=account.get_username()).delete()
            text = "Password set with a link."
            add_event(self.request, Event.Kind.ACCOUNT_CHANGED, target=account, message=text, account=account)
        del self.request.session[INTERNAL_RESET_SESSION_TOKEN]
        self.request.session[login_view.NAME] = account.get_username()
        messages.success(self.request, f"The password of {account} is set. Log in with it.")
        return HttpResponseRedirect(self.get_success_url())

    def render_to_response(self, context: dict[str, Any], **kwargs: Any) -> HttpResponse:
        if not self.validlink:
            return _failure()
        context |= {"account": self.user, "is_nav_sidebar_enabled": False}
        return staff_page(self.request, self.template_name, self.title, context)


def _failure() -> HttpResponse:
    return failure_page(
        404,
        "This link does not work",
        "No password was changed.",
        "A link works once, for three days, until there is a newer one, and only for an active account. "
        "It must be complete, and your browser must keep cookies.",
        "If you have set the password yourself, log in with it. Otherwise open the link again, or ask an administrator "
        "for a new one.",
    )
