from typing import Any

from django.contrib import admin, messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest

from pets.admin import PetSearch
from pets.models import Pet
from store.models import InventoryItem


def _marking_as(status: Pet.Status) -> Any:
    """The admin action that gives the selected pets `status`."""

    @admin.action(description=f"Mark as {status.label.lower()}", permissions=["change"])
    @transaction.atomic
    def mark(model_admin: Any, request: HttpRequest, queryset: QuerySet[InventoryItem]) -> None:
        changed = list(queryset.select_for_update().exclude(status=status))
        InventoryItem.objects.filter(pk__in=[item.pk for item in changed]).update(status=status)
        for item in changed:
            model_admin.log_change(request, item, f"Status changed from {item.status} to {status}.")
        model_admin.message_user(request, f"{len(changed)} pet(s) marked as {status.label.lower()}.", messages.SUCCESS)

    mark.__name__ = f"mark_as_{status}"
    return mark


@admin.register(InventoryItem)
class InventoryItemAdmin(PetSearch):
    """See and change the statuses; pets come and go in the pets' own pages."""

    list_display = ("name", "tag", "status", "id")
    list_editable = ("status",)
    list_filter = ("status",)
    actions = tuple(map(_marking_as, Pet.Status))
    readonly_fields = ("id", "name", "tag", "created_at")
    fields = ("name", "tag", "status", "id", "created_at")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: InventoryItem | None = None) -> bool:
        return False
