"""The pages with which administrators list, add and change staff accounts."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import Case, Exists, OuterRef, QuerySet, Value, When
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from petservice.accounts import django_pages, names, services  # noqa: F401  # registers Django's pages
from petservice.accounts.action_views import AccountActionViews
from petservice.accounts.forms import AccountForm, NewAccountForm
from petservice.accounts.models import UNUSABLE_PASSWORD, Account, PasswordLink, Role, SecondFactor, State
from petservice.admin_pages.bounded_search import BoundedSearch
from petservice.admin_pages.facts_beside import FactsBeside
from petservice.admin_pages.states import ShownStates, filter_by
from petservice.sign_in import factors, login_limits
from petservice.sign_in.reauthentication import ReauthenticatedChanges
from petservice.time_zone import moment


@admin.register(Account)
class AccountAdmin(FactsBeside, BoundedSearch, ShownStates, ReauthenticatedChanges, AccountActionViews):
    """The pages of staff accounts, which delete no account and set no password."""

    # The state comes early, so that a phone shows it.
    list_display = ("user_name", "state", "role", "second_factor", "full_name", "last_login_text")
    states = State
    list_filter = (filter_by("state", State), filter_by("second_factor", SecondFactor))
    allowed_lookups = ("state", "second_factor")
    search_fields = ("username", "first_name", "last_name")
    ordering = ("username",)
    sortable_by = ()
    show_facets = admin.ShowFacets.ALWAYS
    add_fields = ("username", "full_name", "role", "form_token")
    shown_fields = ("state", "link", "second_factor", "last_login_text", "date_joined")
    readonly_fields = (*shown_fields, "given_by_hand")

    class Media:
        css = {"all": ["accounts/accounts.css"]}

    def get_queryset(self, request: HttpRequest) -> QuerySet[Account]:
        state = Case(
            When(is_active=False, then=Value(State.DEACTIVATED)),
            When(is_staff=False, then=Value(State.NOT_STAFF)),
            When(Exists(login_limits.lockouts().filter(username=OuterRef("username"))), then=Value(State.LOCKED)),
            When(UNUSABLE_PASSWORD, then=Value(State.INVITED)),
            default=Value(State.ACTIVE),
        )
        has_factor = Exists(factors.in_use().filter(user=OuterRef("pk")))
        factor = Case(When(has_factor, then=Value(SecondFactor.ON)), default=Value(SecondFactor.OFF))
        accounts: QuerySet[Account] = super().get_queryset(request)
        return accounts.annotate(state=state, second_factor=factor).prefetch_related("groups", "user_permissions")

    # Columns and fields.

    @admin.display(description="user name")
    def user_name(self, account: Account) -> str:
        return account.get_username()

    @admin.display(description="last login")
    def last_login_text(self, account: Account) -> str:
        return moment(account.last_login) if account.last_login else "never"

    @admin.display(description="second factor")
    def second_factor(self, account: Account) -> str:
        return SecondFactor(account.second_factor).label  # type: ignore[attr-defined]  # an annotation

    @admin.display(description="password link")
    def link(self, account: Account) -> str:
        """Describe the last link of the account."""
        return str(PasswordLink.newest(account) or "none")

    @admin.display(description="set by hand")
    def given_by_hand(self, account: Account) -> str:
        url = reverse("admin:auth_user_change", args=[account.pk])
        return format_html('{}. <a href="{}">Change them</a>', services.role_text(account), url)

    def get_fields(self, request: HttpRequest, obj: Account | None = None) -> Any:
        if obj is None:
            return self.add_fields
        by_hand = ("given_by_hand",) if obj.role == Role.CUSTOM else ()
        return ("username", "full_name", "role", *by_hand, *self.shown_fields)

    # Changes.

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form = super().get_form(request, obj, change, **{"form": AccountForm if change else NewAccountForm} | kwargs)
        form.actor = request.user  # type: ignore[attr-defined]  # Django makes a class for each request
        return form

    def save_model(self, request: HttpRequest, obj: Account, form: Any, change: bool) -> None:
        request.change_texts = form.change_texts() if change else []  # type: ignore[attr-defined]  # our own attribute
        if change and not obj.is_staff:
            # Otherwise the sessions from before the loss of the staff status would begin again.
            services.end_sessions(obj)
        obj.is_staff = True
        if not change:
            obj.set_unusable_password()
        if "full_name" in form.changed_data:
            obj.first_name, obj.last_name = form.cleaned_data["full_name"], ""
        super().save_model(request, obj, form, change)
        if "username" in form.changed_data and (warning := names.warning(obj.get_username())):
            self.message_user(request, warning, messages.WARNING)
        if change and form.kept:
            self.message_user(request, form.kept_changes, messages.WARNING)
        if "role" in form.changed_data:
            services.assign_role(obj, Role(form.cleaned_data["role"]))

    def construct_change_message(self, request: HttpRequest, form: Any, formsets: Any, add: bool = False) -> Any:
        if add:
            return f"Added. Role: {form.cleaned_data['role']}."
        return " ".join(request.change_texts)  # type: ignore[attr-defined]  # set by save_model
