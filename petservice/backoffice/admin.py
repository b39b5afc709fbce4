"""The accounts of staff in the admin: Django's own pages, but none goes whose changes are in the history."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.contrib.auth.admin import UserAdmin
from django.http import HttpRequest

admin.site.unregister(get_user_model())


@admin.register(get_user_model())
class AccountAdmin(UserAdmin):
    """A change is kept as long as who made it, so whoever has made one is deactivated instead of deleted."""

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[str], dict[str, int], set[str], list[str]]:
        """Without the single entries of the history, which may name what the viewer may not see: API keys."""
        changed_by = LogEntry.objects.filter(user__in=[user.pk for user in objs]).order_by("user__username")
        names = changed_by.values_list("user__username", flat=True).distinct()
        protected = [
            f"The history of what {name} has changed. Untick “Active” on their page instead." for name in names
        ]
        if protected:
            return [], {}, set(), protected
        return super().get_deleted_objects(objs, request)
