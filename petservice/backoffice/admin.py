"""The admin pages of staff accounts: those of Django, except that an account with a change history is not deleted."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.contrib.auth.admin import UserAdmin
from django.http import HttpRequest

admin.site.unregister(get_user_model())


@admin.register(get_user_model())
class AccountAdmin(UserAdmin):
    """The admin pages of accounts, which protect the change history.

    Django would delete the history of an account together with the account.
    """

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[str], dict[str, int], set[str], list[str]]:
        """Return what a deletion would delete, with one line for each protected change history.

        The entries of the history are left out, because they can name API keys that the viewer may not see.
        """
        changed_by = LogEntry.objects.filter(user__in=[user.pk for user in objs]).order_by("user__username")
        names = changed_by.values_list("user__username", flat=True).distinct()
        protected = [
            f"Change history of {name}. Accounts with a change history cannot be deleted. "
            "Clear “Active” on the account's page instead."
            for name in names
        ]
        if protected:
            return [], {}, set(), protected
        return super().get_deleted_objects(objs, request)
