"""The admin views that create a password link once, and show it once."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables

from petservice.accounts.actions import LINK
from petservice.accounts.forms import LinkForm
from petservice.accounts.life_cycle_views import LifeCycleViews
from petservice.accounts.models import Account, PasswordLink
from petservice.time_zone import moment


class LinkViews(LifeCycleViews):
    """A part of the pages of staff accounts, which creates password links and shows them."""

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.link_view)
        return [path("<int:pk>/link/", view, name="accounts_account_link"), *super().get_urls()]

    def add_view(self, request: HttpRequest, form_url: str = "", extra_context: Any = None) -> HttpResponse:
        if not self.has_add_permission(request):  # checked before the message that names the account
            raise PermissionDenied
        return self._create_once(request, lambda: super(LinkViews, self).add_view(request, form_url, extra_context))

    def save_model(self, request: HttpRequest, obj: Account, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if not change:
            self._create(request, obj, form.cleaned_data["form_token"])

    def response_add(self, request: HttpRequest, obj: Account, post_url_continue: str | None = None) -> HttpResponse:
        return self._show_once(request, obj)

    def link_view(self, request: HttpRequest, pk: int) -> HttpResponse:
        """Ask for confirmation, then create a link and show it."""
        if not self.has_change_permission(request):  # checked before the message that names the account
            raise PermissionDenied
        return self._create_once(request, lambda: self._new_link(request, pk))

    def _new_link(self, request: HttpRequest, pk: int) -> HttpResponse:
        with transaction.atomic():
            account = self.account(request, pk)
            if account is None:
                return self.missing(request)
            if not LINK.is_available(account):
                return self.unavailable(request, account, LINK.unavailable)
            form = LinkForm(request.POST or None)
            if request.method != "POST" or not form.is_valid():
                return self.confirmation(request, account, LINK, LinkForm())
            link = self._create(request, account, form.cleaned_data["form_token"])
            self.log_change(request, account, f"Password link created, which works until {moment(link.expires_at)}.")
        return self._show_once(request, account)

    def _create(self, request: HttpRequest, account: Account, form_token: UUID) -> PasswordLink:
        link, token = PasswordLink.create(account, created_by=request.user, form_token=form_token)
        # For the response to this request. Django's messages would store the token in a readable cookie.
        request.password_link, request.password_token = link, token  # type: ignore[attr-defined]  # our own attributes
        return link

    def _create_once(self, request: HttpRequest, create: Callable[[], HttpResponse]) -> HttpResponse:
        """Return the response of `create`, or redirect to the account that this form has already created a link for."""
        link = _created_by_form(request)
        if link is None:
            try:
                with transaction.atomic():
                    return create()
            except IntegrityError:  # another request has saved the same form, or an account with the same name
                link = _created_by_form(request)
                if link is None:
                    return create()  # the form now finds the account with the same name
        text = (
            f"This form was already submitted and created a password link for {link.account}. A link is shown only "
            "once. If you did not copy it, create a new password link."
        )
        self.message_user(request, text, messages.WARNING)
        return HttpResponseRedirect(reverse("admin:accounts_account_change", args=[link.account_id]))

    @method_decorator(never_cache)
    @sensitive_variables("token", "url")
    def _show_once(self, request: HttpRequest, account: Account) -> HttpResponse:
        """Return the only page that shows the link. It has no URL of its own and is not cached."""
        link: PasswordLink = request.password_link  # type: ignore[attr-defined]  # set by _create
        token: str = request.password_token  # type: ignore[attr-defined]  # set by _create
        context = self.admin_site.each_context(request) | {
            "title": f"Password link for {account}",
            "opts": self.opts,
            "account": account,
            "link": link,
            "url": request.build_absolute_uri(reverse("password-link", args=[token])),
        }
        response = TemplateResponse(request, "admin/accounts/account/link_created.html", context)
        response.render()  # immediately, so that no middleware receives the token in the context
        return response


def _created_by_form(request: HttpRequest) -> PasswordLink | None:
    form_token = request.POST.get("form_token", "")
    try:
        return PasswordLink.objects.filter(form_token=UUID(form_token)).select_related("account").first()
    except ValueError:
        return None  # the form will reject this token
