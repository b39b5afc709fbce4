"""Changes of one field of many pets. They leave pets alone that someone else changed after the list was shown."""

from collections.abc import Callable, Mapping

from django.contrib import messages
from django.contrib.auth import get_permission_codename
from django.db import transaction
from django.http import HttpRequest
from django.utils.safestring import SafeString

from pets.admin import selection as selections
from pets.admin.changelist import count_of_pets
from pets.admin.confirmation import ConfirmedActions
from pets.admin.selection import Selection
from pets.admin.undoable import Change, Kind, record_change, with_undo_link
from pets.models import Pet
from petservice.db.lookups import Among
from petservice.journal.models import Event

# Maximum number of pets that change without a confirmation: about what a person can check in the list.
MAX_UNCONFIRMED = 20


class BulkChanges(ConfirmedActions):
    """A mixin for actions on many pets: the comparison, the change and the messages."""

    def action_checkbox(self, obj: Pet) -> SafeString:
        return super().action_checkbox(obj) + selections.hidden_version(obj)

    def change_field(
        self,
        request: HttpRequest,
        field: str,
        wanted: Mapping[str, str | None],
        selection: Selection,
        summary: Callable[[str], str],
        nothing_changed: str = "",
    ) -> None:
        """Set a field by pet id in one transaction with the history, and tell the user how many pets changed.

        Pets whose field differs from that of the selection stay as they are, and the user gets a warning. `summary`
        makes a sentence of the number of pets. `nothing_changed` is the message if no pet changes.
        """
        with transaction.atomic():
            comparison = selections.compare(selection, [field], wanted, lock=True)
            changed = [
                pet for pet in comparison.unchanged if pet.pk in wanted and getattr(pet, field) != wanted[pet.pk]
            ]
            done = summary(count_of_pets(len(changed)))
            event = self._change(request, field, wanted, changed, done) if changed else None
        self.warn(request, comparison, "changed")
        if event:
            self.message_user(request, with_undo_link(done, event), messages.SUCCESS)
        elif nothing_changed:
            self.message_user(request, nothing_changed, messages.INFO)

    def _change(
        self, request: HttpRequest, field: str, wanted: Mapping[str, str | None], pets: list[Pet], summary: str
    ) -> Event:
        for value in sorted({wanted[pet.pk] for pet in pets}, key=str):
            ids = [pet.pk for pet in pets if wanted[pet.pk] == value]
            Pet.objects.filter(Among("pk", ids)).update(**{field: value})
        changes = [Change(pet, {field: getattr(pet, field)}, {field: wanted[pet.pk]}) for pet in pets]
        return record_change(request, Kind.CHANGED, summary, changes, self.permission("change"))

    def permission(self, verb: str) -> str:
        """Return the full name of a permission for these pages."""
        return f"{self.opts.app_label}.{get_permission_codename(verb, self.opts)}"

    def warn(self, request: HttpRequest, comparison: selections.Comparison, verb: str) -> None:
        """Add messages about the pets that were left alone."""
        for warning in comparison.warnings(verb):
            self.message_user(request, warning, messages.WARNING)
