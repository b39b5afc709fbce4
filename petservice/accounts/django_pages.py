"""Django's own pages of users and groups, for permissions that no role has. Only administrators may use them."""

from contextlib import nullcontext
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.models import LogEntry
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.forms import UserChangeForm
from django.contrib.auth.models import Group, User
from django.db import connection, transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from petservice.accounts import services, sessions
from petservice.accounts.history import AccountHistory, AdministratorsOnly
from petservice.admin_pages.bounded_search import BoundedSearch
from petservice.admin_pages.change_message import change_message
from petservice.audit.model_admin import RecordedChanges
from petservice.sign_in import logins
from petservice.sign_in.confirmation import ConfirmedChanges

admin.site.unregister([User, Group])


def _reason_to_keep(user: User, request: HttpRequest) -> str | None:
    """Return why an account must stay an active administrator, or None if it need not."""
    if connection.in_atomic_block:  # a page that only asks has no transaction
        services.lock(user.pk)
    return services.reason_to_stay_administrator(user, request.user)


class UserForm(UserChangeForm):
    """A form of a user that leaves at least one administrator who can log in."""

    # Set for each request.
    request: HttpRequest

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        needed = ("is_active", "is_staff", "is_superuser")
        if not all(cleaned.get(name) for name in needed) and (reason := _reason_to_keep(self.instance, self.request)):
            raise forms.ValidationError(f"An administrator needs all three boxes under Permissions. {reason}")
        return cleaned


@admin.register(User)
class UserPages(BoundedSearch, ConfirmedChanges, AccountHistory, AdministratorsOnly, UserAdmin):
    """Django's pages of users, which protect the change history and the last administrator.

    Django would delete the history of an account together with the account.
    """

    form = UserForm
    allowed_lookups = ("is_staff__exact", "is_superuser__exact", "is_active__exact", "groups__id__exact")
    change_form_template = "admin/auth/user/change_form.html"
    readonly_fields = ("last_login", "date_joined")
    confirmed_pages = ("auth_user_add", "auth_user_password_change")

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        form = super().get_form(request, obj, change=change, **kwargs)
        form.request = request  # type: ignore[attr-defined]  # Django makes a class for each request
        return form

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if change and {"is_active", "is_staff"} & {*form.changed_data}:
            sessions.end_all(obj)  # otherwise the sessions would begin again when the account gets the box back

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        # Two administrators who delete each other at the same time wait for each other, see _reason_to_keep.
        with transaction.atomic() if request.method == "POST" else nullcontext():
            return super().changelist_view(request, extra_context)

    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:
        """Change the password of an account, and unlock the account, so that the new password works immediately."""
        if request.POST.get("usable_password") == "false":
            with transaction.atomic():
                return self._disable_password(request, id, form_url)
        user: Any = self.get_object(request, id)
        response: HttpResponse = super().user_change_password(request, id, form_url)
        saved_url = reverse("admin:auth_user_change", args=[user.pk])
        if isinstance(response, HttpResponseRedirect) and response.url == saved_url:
            if logins.unlock(user.get_username()):
                self.log_change(request, user, "Unlocked.")
            if user.pk == request.user.pk:
                sessions.begin(None, request, user)  # Django has stored a hash without the version of the sessions
        return response

    def construct_change_message(self, request: HttpRequest, form: Any, formsets: Any, add: bool = False) -> Any:
        return super().construct_change_message(request, form, formsets, add) if add else change_message(form)

    def _disable_password(self, request: HttpRequest, id: str, form_url: str) -> HttpResponse:
        user: Any = self.get_object(request, id)
        if user and (reason := _reason_to_keep(user, request)):
            self.message_user(request, f"The password was not disabled. {reason}", messages.ERROR)
            return HttpResponseRedirect(request.path)
        response: HttpResponse = super().user_change_password(request, id, form_url)
        return response

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[str], dict[str, int], set[str], list[str]]:
        """Return what a deletion would delete, with one line for each reason against it.

        The entries of the history are left out, because they can name API keys that the viewer may not see.
        """
        changed_by = LogEntry.objects.filter(user__in=[user.pk for user in objs]).order_by("user__username")
        names = changed_by.values_list("user__username", flat=True).distinct()
        protected = [
            f"Change history of {name}. Accounts with a change history cannot be deleted. "
            "Deactivate the account on its page under Staff accounts instead."
            for name in names
        ]
        protected += [reason for user in objs if (reason := _reason_to_keep(user, request))]
        if protected:
            return [], {}, set(), protected
        return super().get_deleted_objects(objs, request)


@admin.register(Group)
class GroupPages(BoundedSearch, RecordedChanges, ConfirmedChanges, AdministratorsOnly, GroupAdmin):
    """Django's pages of groups."""
