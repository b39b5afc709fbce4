"""Changes of one field of many pets. They leave pets alone that someone else changed after the list was shown."""

from collections.abc import Callable, Mapping
from typing import Any

from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.models import CHANGE
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.safestring import SafeString

from pets import history, undo
from pets.admin import selection as selections
from pets.admin.changelist import count_of_pets
from pets.admin.selection import Selection
from pets.admin.undoable import UndoableChanges
from pets.batches import batches
from pets.models import ChangeSet, Pet
from petservice.admin_pages.bounded_paginator import MAX_COUNTED

# Maximum number of pets that change without a confirmation: about what a person can check in the list.
MAX_UNCONFIRMED = 20


class BulkChanges(UndoableChanges):
    """A mixin for actions on many pets: the comparison, the change, the confirmation and the messages."""

    def action_checkbox(self, obj: Pet) -> SafeString:
        return super().action_checkbox(obj) + selections.shown_values(obj)

    def change_field(
        self,
        request: HttpRequest,
        field: str,
        wanted: Mapping[str, str | None],
        selection: Selection,
        summary: Callable[[str], str],
    ) -> list[Pet]:
        """Set a field by pet id in one transaction with the history, and return the pets that changed.

        Pets whose field differs from that of the selection stay as they are, and the user gets a warning. `summary`
        makes a sentence of the number of pets.
        """
        with transaction.atomic():
            comparison = selections.compare(selection, [field], wanted, lock=True)
            changed = [
                pet for pet in comparison.unchanged if pet.pk in wanted and getattr(pet, field) != wanted[pet.pk]
            ]
            if changed:
                self._change(request, field, wanted, changed, summary(count_of_pets(len(changed))))
        self.warn(request, comparison, "changed")
        return changed

    def _change(
        self, request: HttpRequest, field: str, wanted: Mapping[str, str | None], pets: list[Pet], summary: str
    ) -> None:
        for value in sorted({wanted[pet.pk] for pet in pets}, key=str):
            ids = [pet.pk for pet in pets if wanted[pet.pk] == value]
            for some in batches(ids):
                Pet.objects.filter(pk__in=some).update(**{field: value})
        changes = [undo.Change(pet.pk, {field: getattr(pet, field)}, {field: wanted[pet.pk]}) for pet in pets]
        sentences = (history.change(field, getattr(pet, field), wanted[pet.pk]) for pet in pets)
        entries = [history.Entry(pet, CHANGE, sentence) for pet, sentence in zip(pets, sentences, strict=True)]
        history.write(request.user.pk, entries)
        pet = pets[0] if len(pets) == 1 else None
        self.record_change(request, ChangeSet.Kind.CHANGED, summary, changes, pet=pet)

    def is_too_large(self, request: HttpRequest, selection: Selection, limit: int | None = None) -> bool:
        """Return whether more pets than the limit are selected, after a message that says so."""
        advice = "Select fewer and try again" if limit else "Filter the list and try again"
        limit = limit or MAX_COUNTED
        if len(selection) > limit:
            message = f"You selected more than {count_of_pets(limit)}. {advice}. Nothing was changed."
            self.message_user(request, message, messages.ERROR)
        return len(selection) > limit

    def confirmation(self, request: HttpRequest, selection: Selection, **context: Any) -> HttpResponse:
        """Return the page that asks before an action. It sends the selection back with the action's name."""
        context |= self.admin_site.each_context(request) | {
            "opts": self.opts,
            "media": self.media,
            "checkbox_name": ACTION_CHECKBOX_NAME,
            "first_id": next(iter(selection), ""),
            "selection_name": selections.FIELD,
            "selection": selections.as_field(selection),
        }
        return TemplateResponse(request, "admin/pets/confirmation.html", context)

    def warn(self, request: HttpRequest, comparison: selections.Comparison, verb: str) -> None:
        """Add messages about the pets that were left alone."""
        for warning in comparison.warnings(verb):
            self.message_user(request, warning, messages.WARNING)
