"""The admin views that unlock, deactivate and reactivate accounts, and end their sessions."""

from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import connection, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse

from petservice.accounts import services
from petservice.accounts.actions import ACTIONS, DEACTIVATE, END_SESSIONS, LINK, Action
from petservice.accounts.history import AccountHistory, AdministratorsOnly
from petservice.accounts.models import Account
from petservice.sign_in import factors


class LifeCycleViews(AccountHistory, AdministratorsOnly):
    """A part of the pages of staff accounts, which performs actions on one account after a confirmation."""

    def get_urls(self) -> list[URLPattern]:
        return [
            *(
                path(
                    f"<int:pk>/{action.verb}/",
                    self.admin_site.admin_view(partial(self.action_view, action=action)),
                    name=f"accounts_account_{action.verb}",
                )
                for action in ACTIONS
                if action is not LINK  # whose response shows the link
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
            context["has_second_factor"] = factors.is_set_up(account)
        return super().render_change_form(request, context, *args, **kwargs)

    def action_view(self, request: HttpRequest, pk: int, action: Action) -> HttpResponse:
        """Ask for confirmation, then perform the action on the account."""
        with transaction.atomic():
            account = self.account(request, pk)
            if account is None:
                return self.missing(request)
            reason = self._refusal(request, action, account)
            if reason or not action.is_available(account):
                return self.unavailable(request, account, reason or action.unavailable)
            if request.method != "POST":
                return self.confirmation(request, account, action)
            if action is END_SESSIONS and request.POST.get("version") != version_of(account):
                text = "All sessions of {account} were ended after your page was opened. Nothing was changed."
                return self.unavailable(request, account, text)
            action.perform(account)
            self.log_change(request, account, action.entry)
        self.message_user(request, action.done.format(account=account), messages.SUCCESS)
        return self._to_page_of(account)

    def _refusal(self, request: HttpRequest, action: Action, account: Account) -> str | None:
        if action is not DEACTIVATE or not account.is_active:
            return None
        reason = services.reason_to_stay_administrator(account, request.user)
        return f"The account {account} was not deactivated. {reason}" if reason else None

    # Parts of all views of one account.

    def account(self, request: HttpRequest, pk: int) -> Account | None:
        """Return an account, or None if it does not exist. A form locks it until the transaction ends."""
        if not self.has_change_permission(request):
            raise PermissionDenied
        account: Account | None = self.get_object(request, str(pk))
        return account

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        if request.method == "POST" and connection.in_atomic_block:
            account = super().get_object(request, object_id, from_field)
            services.lock(account.pk if account else 0)
            # A person may have lost the role since the request began.
            if not Account.objects.filter(pk=request.user.pk or 0, is_active=True, is_superuser=True).exists():
                raise PermissionDenied
        return super().get_object(request, object_id, from_field)

    def confirmation(
        self, request: HttpRequest, account: Account, action: Action, form: forms.Form | None = None
    ) -> HttpResponse:
        """Return the page that asks before an action."""
        context = self.admin_site.each_context(request) | {
            "title": f"{action.label}: {account}",
            "opts": self.opts,
            "account": account,
            "action": action,
            "explanation": action.explanation.format(account=account, role=account.role.label),
            "is_own": account.pk == request.user.pk,
            "version": version_of(account),
            "form": form,
        }
        return TemplateResponse(request, "admin/accounts/account/confirmation.html", context)

    def unavailable(self, request: HttpRequest, account: Account, reason: str) -> HttpResponse:
        """Say why an action was not performed, on the page of the account."""
        self.message_user(request, reason.format(account=account), messages.WARNING)
        return self._to_page_of(account)

    def missing(self, request: HttpRequest) -> HttpResponse:
        """Say that the account does not exist, on the list."""
        text = "This account does not exist any more: someone has deleted it. Nothing was changed."
        self.message_user(request, text, messages.WARNING)
        return HttpResponseRedirect(reverse("admin:accounts_account_changelist"))

    def _to_page_of(self, account: Account) -> HttpResponse:
        return HttpResponseRedirect(reverse("admin:accounts_account_change", args=[account.pk]))


def version_of(account: Account) -> str:
    """Return the version of an account's sessions, for a form that must not end them twice."""
    version = getattr(account, "session_version", None)
    return str(version.number) if version else "0"
