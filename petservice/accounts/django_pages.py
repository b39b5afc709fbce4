"""Django's own pages of users and groups, for permissions that no role has. Only administrators may use them.

The pages of django-otp are removed, because they show the secrets of second factors.
"""

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin
from django.contrib.auth.models import Group, Permission, User
from django.http import HttpRequest
from django_otp.plugins.otp_static.admin import StaticDevice
from django_otp.plugins.otp_totp.admin import TOTPDevice

from petservice.accounts.groups import GROUPS
from petservice.admin_pages.merging_form import MergingForm
from petservice.admin_pages.mixins import AdministratorsOnly, BoundedSearch
from petservice.journal.models import Event
from petservice.journal.record_pages import JournalPages
from petservice.journal.sentences import changes_of_form

# The imports above have registered them.
admin.site.unregister([User, Group, StaticDevice, TOTPDevice])

_KEPT = "The group “{0}” is the role “{0}” of staff accounts, so it keeps its name and cannot be deleted."


class _DjangoPages(BoundedSearch, JournalPages, AdministratorsOnly):
    """The parts that both pages have."""

    needs_recent_login = True
    form = MergingForm

    class Media:
        js = ("accounts/pickers.js",)


@admin.register(User)
class UserPages(_DjangoPages):
    """The pages of the groups and permissions of users. The pages of staff accounts have all else."""

    change_kind = Event.Kind.ACCOUNT_CHANGED
    list_filter = ("groups",)
    search_fields = ("username", "first_name", "last_name")
    ordering = ("username",)
    fields = filter_horizontal = ("groups", "user_permissions")

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    has_delete_permission = has_add_permission

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "user_permissions":  # each choice names its content type
            kwargs["queryset"] = Permission.objects.select_related("content_type")
        return super().formfield_for_manytomany(db_field, request, **kwargs)


@admin.register(Group)
class GroupPages(_DjangoPages, GroupAdmin):
    """Django's pages of groups. The groups of roles keep their names, by which the pages of accounts find them."""

    actions = None  # one of the selected groups could be a role

    def get_readonly_fields(self, request: HttpRequest, obj: Group | None = None) -> tuple[str, ...]:
        return ("name",) if _is_role(obj) else ()

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        help_texts = {"name": _KEPT.format(obj)} if _is_role(obj) else {}
        return super().get_form(request, obj, change, help_texts=help_texts, **kwargs)

    def construct_change_message(self, request: HttpRequest, form: Any, formsets: Any, add: bool = False) -> Any:
        """Describe a change, or the permissions of a new group, which nothing else tells once they have changed."""
        text = super().construct_change_message(request, form, formsets, add)
        return f"{text} {changes_of_form(form, 'permissions')}" if add and form.cleaned_data["permissions"] else text

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_delete_permission(request, obj) and not _is_role(obj)


def _is_role(group: Group | None) -> bool:
    return group is not None and group.name in GROUPS
