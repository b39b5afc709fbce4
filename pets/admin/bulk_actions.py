"""The actions that change the statuses of many pets of a list."""

from collections import Counter
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from pets.admin.bulk_changes import MAX_UNCONFIRMED, BulkChanges
from pets.admin.changelist import count_of_pets
from pets.admin.filters import filters_in_words
from pets.admin.selection import Selection
from pets.models import Pet


def _marking_as(status: Pet.Status) -> Any:
    """Return the admin action that sets the status of the selected pets."""

    @admin.action(description=f"Mark as {status.label.lower()}", permissions=["change"])
    def mark(pages: "BulkActions", request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        return pages.mark_selected(request, queryset, status)

    mark.__name__ = f"mark_as_{status}"
    return mark


class BulkActions(BulkChanges):
    """A mixin of the actions that change the statuses of many pets."""

    actions: Any = tuple(map(_marking_as, Pet.Status))

    def mark_selected(self, request: HttpRequest, queryset: QuerySet[Any], status: Pet.Status) -> HttpResponse | None:
        """Set the status of the selected pets, after a confirmation if there are many."""
        if (selection := self.selected(request, queryset)) is None:
            return None
        others = [values for values in selection.values() if values.get("status") != status]
        if len(others) > MAX_UNCONFIRMED and "post" not in request.POST:
            return self._ask_to_mark(request, selection, status)

        def summary(pets: str) -> str:
            return f"{pets} marked as {status.label.lower()}."

        nothing = f"Nothing was changed: the selected pets are {status} already, or someone else changed them."
        self.change_field(request, "status", dict.fromkeys(selection, status.value), selection, summary, nothing)
        return None

    def _ask_to_mark(self, request: HttpRequest, selection: Selection, status: Pet.Status) -> HttpResponse:
        shown = [values.get("status", "") for values in selection.values()]
        counts = Counter(one for one in shown if one != status)
        pets, new = count_of_pets(counts.total()), status.label.lower()
        already = len(shown) - counts.total()
        return self.confirmation(
            request,
            selection,
            action=f"mark_as_{status}",
            title=f"Mark as {new}",
            question=f"Mark {pets} as {new}?",
            facts={
                "Filter of the list": filters_in_words(request.GET) or "none",
                "Status now": ", ".join(f"{count:,} {one or 'unknown'}" for one, count in sorted(counts.items())),
                **({f"Already {new}": count_of_pets(already)} if already else {}),
            },
            button=f"Yes, mark {pets} as {new}",
        )
