"""The admin views of actions on one account, one of which creates a password link once, and shows it once."""

from functools import partial
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.views.decorators.debug import sensitive_variables

from petservice.accounts import services
from petservice.accounts.actions import ACTIONS, DEACTIVATE, LINK, RESET_SECOND_FACTOR, Action
from petservice.accounts.models import Account, PasswordLink
from petservice.accounts.password_links import url_of_newest_link
from petservice.admin_pages.created_once import CreatedOnce, FormOnce
from petservice.admin_pages.restricted_pages import AdministratorsOnly
from petservice.admin_pages.staff_page import staff_page
from petservice.journal.models import Event
from petservice.journal.pages import JournalPages
from petservice.time_zone import moment


class AccountActionViews(CreatedOnce, JournalPages, AdministratorsOnly):
    """A part of the pages of staff accounts, which performs actions on one account after a confirmation."""

    addition_kind, change_kind = Event.Kind.ACCOUNT_ADDED, Event.Kind.ACCOUNT_CHANGED
    form_lookup = "password_links__form_token"
    already_created = (
        "This form was already submitted and created a password link for {created}. A link is shown only once. If you "
        "did not copy it, create a new password link."
    )

    def get_urls(self) -> list[URLPattern]:
        return [
            *(
                path(
                    f"<int:pk>/{action.verb}/",
                    self.admin_site.admin_view(partial(self.action_view, action=action)),
                    name=f"accounts_account_{action.verb}",
                )
                for action in ACTIONS
            ),
            *super().get_urls(),
        ]

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any) -> Any:
        account: Account | None = context.get("original")
        # A save ends with the link of a new account, or with the list.
        context |= {"show_save_and_add_another": False, "show_save_and_continue": False}
        if account is not None:
            context["account_actions"] = [
                (action, reverse(f"admin:accounts_account_{action.verb}", args=[account.pk]))
                for action in ACTIONS
                if action.is_available(account) and not self._refusal(request, action, account)
            ]
        return super().render_change_form(request, context, *args, **kwargs)

    def action_view(self, request: HttpRequest, pk: int, action: Action) -> HttpResponse:
        """Ask for confirmation, then perform the action on the account."""
        if not self.has_change_permission(request):  # checked before the message that names the account
            raise PermissionDenied
        return self.create_once(request, lambda: self._perform(request, pk, action))

    def _perform(self, request: HttpRequest, pk: int, action: Action) -> HttpResponse:
        account = self.get_object(request, str(pk))
        if account is None:
            text = "This account does not exist any more: someone has deleted it. Nothing was changed."
            self.message_user(request, text, messages.WARNING)
            return redirect("admin:accounts_account_changelist")
        reason = self._refusal(request, action, account)
        if reason or not action.is_available(account):
            return self.back_to(request, account, reason or action.unavailable.format(account=account))
        form = FormOnce(request.POST or None)
        if request.method != "POST" or (action is LINK and not form.is_valid()):
            return self._confirmation(request, account, action)
        if action is LINK:
            link = _create_link(request, account, form.cleaned_data["form_token"])
            self.log_change(request, account, f"Password link created, which works until {moment(link.expires_at)}.")
            return self._show_link(request, account)
        action.perform(request, account)
        self.log_change(request, account, action.entry)
        return self.back_to(request, account, action.done.format(account=account), messages.SUCCESS)

    def _refusal(self, request: HttpRequest, action: Action, account: Account) -> str | None:
        if action is RESET_SECOND_FACTOR and account.pk == request.user.pk:
            return "This is your own account. Use the link “Second factor” at the top of the page."
        if action is not DEACTIVATE or not account.is_active:
            return None
        reason = services.reason_to_stay_administrator(account, request.user)
        return f"The account {account} was not deactivated. {reason}" if reason else None

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False  # an account that did something stays, deactivated

    # Parts of all views of one account.

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """Return an account, or None if it does not exist. A form locks it until the transaction ends."""
        if request.method == "POST" and connection.in_atomic_block:
            account = super().get_object(request, object_id, from_field)
            services.lock(account.pk if account else 0)
            # A person may have lost the role since the request began.
            if not Account.objects.filter(pk=request.user.pk or 0, is_active=True, is_superuser=True).exists():
                raise PermissionDenied
        return super().get_object(request, object_id, from_field)

    def _confirmation(self, request: HttpRequest, account: Account, action: Action) -> HttpResponse:
        """Return the page that asks before an action."""
        context = {
            "opts": self.opts,
            "account": account,
            "action": action,
            "explanation": action.explanation.format(account=account, role=account.role.label),
            "is_own": account.pk == request.user.pk,
            "form": FormOnce() if action is LINK else None,
        }
        title = f"{action.label}: {account}"
        return staff_page(request, "admin/accounts/account/confirmation.html", title, context)

    # Creating and showing a link.

    def save_model(self, request: HttpRequest, obj: Account, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if not change:
            _create_link(request, obj, form.cleaned_data["form_token"])

    def response_add(self, request: HttpRequest, obj: Account, post_url_continue: str | None = None) -> HttpResponse:
        return self._show_link(request, obj)

    @sensitive_variables("context")
    def _show_link(self, request: HttpRequest, account: Account) -> HttpResponse:
        """Return the only page that shows the link. It has no URL of its own and is not cached."""
        context = {
            "opts": self.opts,
            "account": account,
            "link": PasswordLink.newest(account),
            "url": url_of_newest_link(request, account),
        }
        title = f"Password link for {account}"
        return staff_page(request, "admin/accounts/account/link_created.html", title, context)


def _create_link(request: HttpRequest, account: Account, form_token: UUID) -> PasswordLink:
    actor: Any = request.user
    return PasswordLink.objects.create(account=account, created_by=actor, form_token=form_token)
