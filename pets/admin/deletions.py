"""The deletion of one or many pets, which moves them into the trash."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.models import DELETION, LogEntry
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone

from pets import history, trash, undo
from pets.admin import selection as selections
from pets.admin.bulk_changes import BulkChanges
from pets.admin.changelist import count_of_pets
from pets.admin.filters import filters_in_words
from pets.admin.selection import Comparison, Selection
from pets.fields import EDITABLE
from pets.models import ChangeSet, Pet

# Maximum number of pets that can be deleted together, because the confirmation page lists all of them.
MAX_DELETED = 500


class _StaleError(Exception):
    """The pet has changed since the page was shown, as a comparison says."""


class Deletions(BulkChanges):
    """A mixin of the deletion of pets."""

    @admin.action(description="Delete selected pets", permissions=["delete"])
    def delete_selected(self, request: HttpRequest, queryset: QuerySet[Pet]) -> HttpResponse | None:
        """Ask whether to delete the selected pets, and delete them after the confirmation."""
        if (selection := self.selected(request, queryset, MAX_DELETED)) is None:
            return None
        if "post" in request.POST:
            self._delete_pets(request, selection)
            return None
        comparison = selections.compare(selection)
        self.warn(request, comparison, "selected")
        pets = comparison.unchanged
        if not pets:
            return None
        return self.confirmation(
            request,
            {pet.pk: selections.shown(pet) for pet in pets},
            action="delete_selected",
            title="Delete pets",
            question=f"Delete {count_of_pets(len(pets))}? Deleted pets stay in the trash for 30 days.",
            button=f"Yes, delete {count_of_pets(len(pets))}",
            facts={"Filter of the list": filters_in_words(request.GET) or "none"},
            pets=pets,
        )

    def _delete_pets(self, request: HttpRequest, selection: Selection) -> None:
        with transaction.atomic():
            comparison = selections.compare(selection, lock=True)
            pets = comparison.unchanged
            if pets:
                self.log_deletions(request, pets)
                self._move_to_trash(request, pets)
        self.warn(request, comparison, "deleted")
        if pets:
            self.message_user(request, f"{count_of_pets(len(pets))} deleted.", messages.SUCCESS)

    def log_deletions(self, request: HttpRequest, queryset: Any) -> list[LogEntry]:
        """Record the deletions in the history of the pets, which the trash shows."""
        history.write(request.user.pk, (history.Entry(pet, DELETION, "Deleted.") for pet in queryset))
        return []

    def _move_to_trash(self, request: HttpRequest, pets: list[Pet]) -> None:
        now = timezone.now()
        trash.move(pets, deleted_by=request.user.get_username(), now=now)
        pet = pets[0] if len(pets) == 1 else None
        summary = f"“{pet}” deleted." if pet else f"{count_of_pets(len(pets))} deleted."
        self.record_change(request, ChangeSet.Kind.DELETED, summary, [*map(undo.deletion, pets)], pet=pet, now=now)

    # The page that deletes one pet.

    def render_delete_form(self, request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
        values = selections.as_text(selections.shown(context["object"]))
        response: HttpResponse = super().render_delete_form(request, context | {"shown": values})
        return response

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        try:
            return super().delete_view(request, object_id, extra_context)
        except _StaleError as error:
            self.warn(request, error.args[0], "deleted")
            self.message_user(request, "Check the pet, and then confirm again.", messages.WARNING)
            return HttpResponseRedirect(request.get_full_path())

    def delete_model(self, request: HttpRequest, obj: Pet) -> None:
        """Move the pet into the trash, or raise an exception if the page showed other values."""
        shown = selections.from_text(request.POST.get("shown", ""))
        changed = selections.differences(obj, shown)
        if changed:
            raise _StaleError(Comparison(EDITABLE, [], {obj: changed}, 0))
        self._move_to_trash(request, [obj])
