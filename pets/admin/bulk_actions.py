"""The actions on many pets of a list. They leave pets alone that someone else changed after the list was shown."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.models import CHANGE, LogEntry
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.safestring import SafeString

from pets.admin import selection as selections
from pets.admin.changelist import count_of_pets
from pets.admin.filters import filters_in_words
from pets.admin.selection import BATCH, Selection
from pets.models import Pet
from petservice.bounded_paginator import MAX_COUNTED

# Maximum number of pets whose status changes without a confirmation: about what a person can check in the list.
MAX_UNCONFIRMED = 20
# Maximum number of pets that can be deleted together, because the confirmation page lists all of them.
MAX_DELETED = 500


def _marking_as(status: Pet.Status) -> Any:
    """Return the admin action that sets the status of the selected pets."""

    @admin.action(description=f"Mark as {status.label.lower()}", permissions=["change"])
    def mark(pages: "BulkActions", request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        return pages.mark_selected(request, queryset, status)

    mark.__name__ = f"mark_as_{status}"
    return mark


class BulkActions(admin.ModelAdmin):
    """A mixin of the actions that change the statuses of many pets and that delete many pets."""

    actions: Any = tuple(map(_marking_as, Pet.Status))

    def action_checkbox(self, obj: Pet) -> SafeString:
        return super().action_checkbox(obj) + selections.shown_status(obj)

    def mark_selected(self, request: HttpRequest, queryset: QuerySet[Any], status: Pet.Status) -> HttpResponse | None:
        """Set the status of the selected pets, after a confirmation if there are many."""
        selection = selections.read(request, queryset)
        if len(selection) > MAX_COUNTED:
            self._reject(request, f"more than {count_of_pets(MAX_COUNTED)}. Filter the list and try again")
            return None
        if len(selection) - list(selection.values()).count(status) > MAX_UNCONFIRMED and "post" not in request.POST:
            return self._ask_to_mark(request, selection, status)
        changed = self.change_status(request, dict.fromkeys(selection, status), selection)
        if changed:
            message = f"{count_of_pets(len(changed))} marked as {status.label.lower()}."
            self.message_user(request, message, messages.SUCCESS)
        else:
            message = f"Nothing was changed: the selected pets are {status} already, or someone else changed them."
            self.message_user(request, message, messages.INFO)
        return None

    def _ask_to_mark(self, request: HttpRequest, selection: Selection, status: Pet.Status) -> HttpResponse:
        counts = Counter(shown for shown in selection.values() if shown != status)
        pets, new = count_of_pets(counts.total()), status.label.lower()
        return self._confirmation(
            request,
            selection,
            action=f"mark_as_{status}",
            title=f"Mark as {new}",
            question=f"Mark {pets} as {new}?",
            facts={
                "Filter of the list": filters_in_words(request.GET) or "none",
                "Status now": ", ".join(f"{count:,} {shown or 'unknown'}" for shown, count in sorted(counts.items())),
            },
            button=f"Yes, mark {pets} as {new}",
        )

    def change_status(self, request: HttpRequest, wanted: Mapping[str, str], selection: Selection) -> list[Pet]:
        """Set statuses by pet id in one transaction with the history, and return the pets that changed.

        Pets whose status differs from that of the selection stay as they are, and the user gets a warning.
        """
        with transaction.atomic():
            comparison = selections.compare(selection, wanted, lock=True)
            changed = [pet for pet in comparison.unchanged if pet.status != wanted[pet.pk]]
            for old in Pet.Status:
                for new in Pet.Status:
                    moved = [pet for pet in changed if (pet.status, wanted[pet.pk]) == (old, new)]
                    self._move(request, moved, old, new)
        self._warn(request, comparison, "changed")
        return changed

    def _move(self, request: HttpRequest, pets: list[Pet], old: str, new: str) -> None:
        for start in range(0, len(pets), BATCH):
            batch = pets[start : start + BATCH]
            Pet.objects.filter(pk__in=[pet.pk for pet in batch]).update(status=new)
            message = f"Status changed from {old} to {new}."
            LogEntry.objects.log_actions(request.user.pk, batch, CHANGE, message)  # type: ignore[arg-type]  # staff have an id

    @admin.action(description="Delete selected pets", permissions=["delete"])
    def delete_selected(self, request: HttpRequest, queryset: QuerySet[Pet]) -> HttpResponse | None:
        """Ask whether to delete the selected pets, and delete them after the confirmation."""
        selection = selections.read(request, queryset)
        if len(selection) > MAX_DELETED:
            self._reject(request, f"more than {count_of_pets(MAX_DELETED)}. Select fewer and try again")
            return None
        if "post" in request.POST:
            self._delete(request, selection)
            return None
        comparison = selections.compare(selection)
        self._warn(request, comparison, "selected")
        pets = comparison.unchanged
        if not pets:
            return None
        question = f"Delete {count_of_pets(len(pets))}?"
        return self._confirmation(
            request,
            {pet.pk: pet.status for pet in pets},
            action="delete_selected",
            title="Delete pets",
            question=f"{question} This cannot be undone.",
            button=f"Yes, delete {count_of_pets(len(pets))}",
            pets=pets,
        )

    def _delete(self, request: HttpRequest, selection: Selection) -> None:
        with transaction.atomic():
            comparison = selections.compare(selection, lock=True)
            pets = Pet.objects.filter(pk__in=[pet.pk for pet in comparison.unchanged])
            self.log_deletions(request, pets)
            self.delete_queryset(request, pets)
        self._warn(request, comparison, "deleted")
        self.message_user(request, f"{count_of_pets(len(comparison.unchanged))} deleted.", messages.SUCCESS)

    def _confirmation(self, request: HttpRequest, selection: Selection, **context: Any) -> HttpResponse:
        context |= self.admin_site.each_context(request) | {
            "opts": self.opts,
            "media": self.media,
            "checkbox_name": ACTION_CHECKBOX_NAME,
            "first_id": next(iter(selection)),
            "selection_name": selections.FIELD,
            "selection": selections.as_field(selection),
        }
        return TemplateResponse(request, "admin/pets/confirmation.html", context)

    def _reject(self, request: HttpRequest, reason: str) -> None:
        self.message_user(request, f"You selected {reason}. Nothing was changed.", messages.ERROR)

    def _warn(self, request: HttpRequest, comparison: selections.Comparison, verb: str) -> None:
        for warning in comparison.warnings(verb):
            self.message_user(request, warning, messages.WARNING)
