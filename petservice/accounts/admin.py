"""The pages with which administrators list, add and change staff accounts, and act on one after a confirmation."""

from functools import partial
from typing import Any

from django.contrib import admin, messages
from django.db import connection
from django.db.models import Case, Exists, OuterRef, QuerySet, Value, When
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html

from petservice.accounts import django_pages, services  # noqa: F401  # registers Django's pages
from petservice.accounts.forms import AccountForm, NewAccountForm, warning_about
from petservice.accounts.models import UNUSABLE_PASSWORD, Account, PasswordLink, Role
from petservice.accounts.password_links import url_of_newest_link
from petservice.accounts.services import ACTIONS, LINK, RESET_SECOND_FACTOR, Action
from petservice.admin_pages.created_once import CreatedOnce, FormOnce
from petservice.admin_pages.mixins import AccessPages, AdministratorsOnly, BoundedSearch, FactsBeside, filter_by
from petservice.admin_pages.staff_page import staff_page
from petservice.configuration.time_zone import moment
from petservice.journal.models import Event
from petservice.journal.record_pages import JournalPages
from petservice.sign_in import factors, login_limits


@admin.register(Account)
class AccountAdmin(FactsBeside, BoundedSearch, AccessPages, CreatedOnce, JournalPages, AdministratorsOnly):
    """The pages of staff accounts, which delete no account and set no password."""

    # The state comes early, so that a phone shows it.
    list_display = ("__str__", "state", "role", "second_factor", "full_name", "last_login")
    list_filter = (filter_by("state", Account.State), filter_by("second_factor", Account.SecondFactor))
    search_fields = ("username", "first_name", "last_name")
    ordering = ("username",)
    sortable_by = ()
    shown_fields = ("state", "link", "second_factor", "last_login", "date_joined")
    readonly_fields = (*shown_fields, "given_by_hand")
    addition_kind, change_kind = Event.Kind.ACCOUNT_ADDED, Event.Kind.ACCOUNT_CHANGED
    form_lookup = "password_links__form_token"
    already_created = (
        "This form was already submitted and created a password link for {created}. A link is shown only once. If you "
        "did not copy it, create a new password link."
    )

    class Media:
        css = {"all": ["accounts/accounts.css"]}

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.action_view)
        own = [path(f"<int:pk>/{one.verb}/", view, {"action": one}, f"accounts_account_{one.verb}") for one in ACTIONS]
        return [*own, *super().get_urls()]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Account]:
        state = Case(
            When(is_active=False, then=Value(Account.State.DEACTIVATED)),
            When(is_staff=False, then=Value(Account.State.NOT_STAFF)),
            When(
                Exists(login_limits.lockouts().filter(username=OuterRef("username"))), then=Value(Account.State.LOCKED)
            ),
            When(UNUSABLE_PASSWORD, then=Value(Account.State.INVITED)),
            default=Value(Account.State.ACTIVE),
        )
        has_factor = Exists(factors.devices().filter(user=OuterRef("pk")))
        factor = Case(When(has_factor, then=Value(Account.SecondFactor.ON)), default=Value(Account.SecondFactor.OFF))
        accounts: QuerySet[Account] = super().get_queryset(request)
        return accounts.annotate(state=state, second_factor=factor).prefetch_related("groups", "user_permissions")

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """Return an account, or None if it does not exist. A form locks all until the transaction ends."""
        if request.method == "POST" and connection.in_atomic_block:
            services.lock()
        return super().get_object(request, object_id, from_field)

    # Columns and fields.

    @admin.display(description="second factor")
    def second_factor(self, account: Account) -> str:
        return Account.SecondFactor(account.second_factor).label  # type: ignore[attr-defined]  # an annotation

    @admin.display(description="password link")
    def link(self, account: Account) -> str:
        """Describe the last link of the account."""
        return str(account.password_links.last() or "none")

    @admin.display(description="set by hand")
    def given_by_hand(self, account: Account) -> str:
        url = reverse("admin:auth_user_change", args=[account.pk])
        return format_html('{}. <a href="{}">Change them</a>', account.role_text, url)

    def get_fields(self, request: HttpRequest, obj: Account | None = None) -> Any:
        if obj is None:
            return ("username", "full_name", "role", "form_token")
        by_hand = ("given_by_hand",) if obj.role == Role.CUSTOM else ()
        return ("username", "full_name", "role", *by_hand, *self.shown_fields)

    # Adding and changing.

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form = super().get_form(request, obj, change, **{"form": AccountForm if change else NewAccountForm} | kwargs)
        form.actor = request.user  # type: ignore[attr-defined]  # Django makes a class for each request
        return form

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any) -> Any:
        account: Account | None = context.get("original")
        # A save ends with the link of a new account, or with the list.
        context |= {"show_save_and_add_another": False, "show_save_and_continue": False}
        if account is not None:
            context["account_actions"] = [
                action for action in ACTIONS if services.reason_against(action, account, request.user) is None
            ]
        return super().render_change_form(request, context, *args, **kwargs)

    def save_model(self, request: HttpRequest, obj: Account, form: Any, change: bool) -> None:
        form.texts = form.change_texts() if change else [f"Added. Role: {form.cleaned_data['role']}."]
        if change and not obj.is_staff:
            # Otherwise the sessions from before the loss of the staff status would begin again.
            services.end_sessions(obj)
        obj.is_staff = True
        if not change:
            obj.set_unusable_password()
        if "full_name" in form.changed_data:
            obj.first_name, obj.last_name = form.cleaned_data["full_name"], ""
        super().save_model(request, obj, form, change)
        if "username" in form.changed_data and (warning := warning_about(obj.get_username())):
            self.message_user(request, warning, messages.WARNING)
        if "role" in form.changed_data:
            obj.assign_role(Role(form.cleaned_data["role"]))
        if not change:
            self._create_link(request, obj, form)

    def construct_change_message(self, request: HttpRequest, form: Any, formsets: Any, add: bool = False) -> Any:
        return " ".join(form.texts)  # set by save_model

    def response_add(self, request: HttpRequest, obj: Account, post_url_continue: str | None = None) -> HttpResponse:
        return self._show_link(request, obj)

    def _create_link(self, request: HttpRequest, account: Account, form: FormOnce) -> PasswordLink:
        token = form.cleaned_data["form_token"]
        return PasswordLink.objects.create(account=account, created_by_id=request.user.pk, form_token=token)

    def _show_link(self, request: HttpRequest, account: Account) -> HttpResponse:
        """Return the only page that shows the link. It has no URL of its own and is not cached."""
        context = {
            "opts": self.opts,
            "account": account,
            "link": account.password_links.last(),
            "url": url_of_newest_link(request, account),
        }
        title = f"Password link for {account}"
        return staff_page(request, "admin/accounts/account/link_created.html", title, context)

    # Actions on one account.

    def action_view(self, request: HttpRequest, pk: int, action: Action) -> HttpResponse:
        """Ask for confirmation, then perform the action on the account."""
        return self.create_once(request, partial(self._perform, request, pk, action))

    def _perform(self, request: HttpRequest, pk: int, action: Action) -> HttpResponse:
        account = self.get_object(request, str(pk))
        if account is None:  # only commands and other programs delete accounts
            raise Http404
        if reason := services.reason_against(action, account, request.user):
            return self.back_to(request, account, reason)
        form = FormOnce(request.POST or None)
        if request.method != "POST" or (action is LINK and not form.is_valid()):
            context = {
                "opts": self.opts,
                "account": account,
                "action": action,
                "explanation": action.explanation.format(account=account, role=account.role),
                "form": FormOnce() if action is LINK else None,
            }
            title = f"{action.label}: {account}"
            return staff_page(request, "admin/accounts/account/confirmation.html", title, context)
        if action is LINK:
            link = self._create_link(request, account, form)
            self.log_change(request, account, f"Password link created, which works until {moment(link.expires_at)}.")
            return self._show_link(request, account)
        services.perform(action, request, account)
        if action is not RESET_SECOND_FACTOR:  # which is in the journal already
            self.log_change(request, account, action.done)
        return self.back_to(request, account, f"Account {account}: {action.done}", messages.SUCCESS)
