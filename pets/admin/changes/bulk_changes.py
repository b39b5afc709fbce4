"""Changes of one field of many pets. They leave pets alone that someone else changed after the list was shown."""

from collections.abc import Callable, Mapping

from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.contrib.auth import get_permission_codename
from django.db import transaction
from django.http import HttpRequest

from pets.admin.changes import selection as selections
from pets.admin.changes.selection import Selection
from pets.admin.lists.changelist import count_of_pets
from pets.admin.undoable import Change, Kind, record_change, with_undo
from pets.models import Pet
from petservice.db.lookups import Among


def change_field(
    pages: ModelAdmin,
    request: HttpRequest,
    field: str,
    wanted: Mapping[str, str | None],
    selection: Selection,
    summary: Callable[[str], str],
    value_in_words: str,
) -> None:
    """Set a field by pet id in one transaction with its record, and tell the user what became of each pet.

    Pets whose field differs from that of the selection stay as they are, and the user gets a warning. `summary` makes a
    sentence of the number of pets. `value_in_words` is what a pet with the wanted value has, such as “this status”.
    """
    with transaction.atomic():
        comparison = selections.compare(selection, [field], wanted, lock=True)
        pets = [pet for pet in comparison.unchanged if pet.pk in wanted]
        changes = [
            Change(pet, {field: getattr(pet, field)}, {field: wanted[pet.pk]})
            for pet in pets
            if getattr(pet, field) != wanted[pet.pk]
        ]
        for value in sorted({wanted[change.pet.pk] for change in changes}, key=str):
            ids = [change.pet.pk for change in changes if change.after[field] == value]
            Pet.objects.filter(Among("pk", ids)).update(**{field: value})
        done = summary(count_of_pets(len(changes)))
        if changes:
            event = record_change(request, Kind.CHANGED, done, changes, permission(pages, "change"))
    warn(request, comparison, "changed")
    others = len(pets) - len(changes)
    had = f"{count_of_pets(others)} had {value_in_words} already."
    if changes:
        messages.success(request, with_undo(pages, request, f"{done} {had}" if others else done, event))
    elif others or not (comparison.changed or comparison.deleted):
        messages.info(request, f"Nothing was changed: {had}" if others else "Nothing was changed.")


def permission(pages: ModelAdmin, verb: str) -> str:
    """Return the full name of a permission for these pages."""
    return f"{pages.opts.app_label}.{get_permission_codename(verb, pages.opts)}"


def warn(request: HttpRequest, comparison: selections.Comparison, verb: str) -> None:
    """Add messages about the pets that were left alone."""
    for warning in comparison.warnings(verb):
        messages.warning(request, warning)
