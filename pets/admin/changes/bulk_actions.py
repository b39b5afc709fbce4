"""The actions that change the statuses of many pets of a list."""

from collections import Counter
from typing import Any

from django.contrib import admin
from django.contrib.admin import ModelAdmin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from pets.admin.changes import selection as selections
from pets.admin.changes.bulk_changes import change_field, warn
from pets.admin.changes.confirmation import confirmation, selected
from pets.admin.lists.changelist import count_of_pets
from pets.admin.lists.filters import filters_in_words
from pets.admin.undoable import MAX_UNCONFIRMED
from pets.models import Pet


def _marking_as(status: Pet.Status) -> Any:
    """Return the admin action that sets the status of the selected pets."""

    @admin.action(description=f"Mark as {status.label.lower()}", permissions=["change"])
    def mark(pages: ModelAdmin, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        return _mark(pages, request, queryset, status)

    mark.__name__ = f"mark_as_{status}"
    return mark


STATUS_ACTIONS = [*map(_marking_as, Pet.Status)]


def _mark(pages: ModelAdmin, request: HttpRequest, queryset: QuerySet[Any], status: Pet.Status) -> HttpResponse | None:
    """Set the status of the selected pets, after a confirmation if there are many."""
    if (selection := selected(request, queryset)) is None:
        return None
    wanted = dict.fromkeys(selection, status.value)
    if "post" not in request.POST:
        comparison = selections.compare(selection, ["status"], wanted)
        if sum(pet.status != status for pet in comparison.unchanged) > MAX_UNCONFIRMED:
            warn(request, comparison, "selected")
            return _ask_to_mark(pages, request, comparison.unchanged, status)
    summary = f"{{}} marked as {status.label.lower()}.".format
    change_field(pages, request, "status", wanted, selection, summary, "this status")
    return None


def _ask_to_mark(pages: ModelAdmin, request: HttpRequest, selected: list[Pet], status: Pet.Status) -> HttpResponse:
    counts = Counter(pet.status for pet in selected if pet.status != status)
    pets, new = count_of_pets(counts.total()), status.label.lower()
    already = len(selected) - counts.total()
    return confirmation(
        pages,
        request,
        {pet.pk: pet.version for pet in selected},
        action=f"mark_as_{status}",
        title=f"Mark as {new}",
        question=f"Mark {pets} as {new}?",
        facts={
            "Filter of the list": filters_in_words(request.GET) or "none",
            "Status now": ", ".join(f"{count:,} {one}" for one, count in sorted(counts.items())),
            **({f"Already {new}": count_of_pets(already)} if already else {}),
        },
        button=f"Yes, mark {pets} as {new}",
    )
