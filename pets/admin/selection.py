"""The pets that staff select in a list, compared with the statuses that the list showed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import BadRequest
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from pets.admin.changelist import count_of_pets
from pets.models import Pet
from petservice.api.validators import is_id
from petservice.bounded_paginator import MAX_COUNTED

# The field of a confirmation page that holds the selection. One field, because Django limits the number of fields.
FIELD = "selection"
# Number of pets that one statement reads.
BATCH = 1000
# Maximum number of pets that a message names, so that it stays readable.
_MAX_NAMED = 10
_SHOWN = "shown-"

# The statuses that the user saw, by the ids of the pets. A status is empty if the request does not contain it.
Selection = dict[str, str]


def shown_status(pet: Pet) -> SafeString:
    """Return the hidden field with the status that the list shows for a pet."""
    return format_html('<input type="hidden" name="{}{}" value="{}">', _SHOWN, pet.pk, pet.status)


def read(request: HttpRequest, queryset: QuerySet[Any]) -> Selection:
    """Return the selected pets.

    If all pages are selected, these are the pets of the queryset, at most one more than MAX_COUNTED.
    """
    post = request.POST
    if post.get(FIELD):
        return _confirmed(post[FIELD])
    shown = {name.removeprefix(_SHOWN): str(status) for name, status in post.items() if name.startswith(_SHOWN)}
    if post.get("select_across", "0") not in ("", "0"):
        selection = dict(queryset.values_list("pk", "status")[: MAX_COUNTED + 1]) | shown
    else:
        selection = {pk: shown.get(pk, "") for pk in post.getlist(ACTION_CHECKBOX_NAME)}
    return _checked(selection)


def as_field(selection: Selection) -> str:
    """Return the value of the field that holds the selection on a confirmation page."""
    ids: dict[str, list[str]] = {}
    for pk, status in selection.items():
        ids.setdefault(status, []).append(pk)
    return orjson.dumps(ids).decode()


def _confirmed(field: str) -> Selection:
    try:
        return _checked({pk: status for status, ids in orjson.loads(field).items() for pk in ids})
    except (ValueError, AttributeError, TypeError):
        raise BadRequest("The selection of pets is invalid.") from None


def _checked(selection: Selection) -> Selection:
    if not all(is_id(pk) and status in ("", *Pet.Status.values) for pk, status in selection.items()):
        raise BadRequest("The selection of pets is invalid.")
    return selection


@dataclass(frozen=True)
class Comparison:
    """The selected pets that are as the list showed them, those with another status since, and the number deleted."""

    unchanged: list[Pet]
    changed: list[Pet]
    deleted: int

    def warnings(self, verb: str) -> list[str]:
        """Return messages about the pets that were left alone, with the verb of what was not done to them."""
        found = []
        if len(self.changed) == 1:
            (pet,) = self.changed
            found.append(f"“{pet}” was not {verb}: someone else set it to {pet.status} in the meantime.")
        elif self.changed:
            names = ", ".join(f"“{pet}” ({pet.status})" for pet in self.changed[:_MAX_NAMED])
            more = f" and {len(self.changed) - _MAX_NAMED:,} more" if len(self.changed) > _MAX_NAMED else ""
            found.append(
                f"{count_of_pets(len(self.changed))} were not {verb}, because someone else changed their status in the "
                f"meantime: {names}{more}."
            )
        if self.deleted:
            were, them = ("was", "it") if self.deleted == 1 else ("were", "them")
            found.append(
                f"{count_of_pets(self.deleted)} {were} not {verb}, because someone else deleted {them} in the meantime."
            )
        return found


def compare(selection: Selection, wanted: Mapping[str, str] | None = None, *, lock: bool = False) -> Comparison:
    """Compare the selected pets with the database. A pet that has its wanted status already counts as unchanged.

    With `lock`, the pets stay locked until the current transaction ends.
    """
    wanted = wanted or {}
    ids = sorted(selection)
    queryset = Pet.objects.select_for_update() if lock else Pet.objects.all()
    pets: list[Pet] = []
    for start in range(0, len(ids), BATCH):
        pets += queryset.filter(pk__in=ids[start : start + BATCH]).order_by("pk")
    changed = [pet for pet in pets if pet.status not in (selection[pet.pk] or pet.status, wanted.get(pet.pk))]
    changed_ids = {pet.pk for pet in changed}
    return Comparison([pet for pet in pets if pet.pk not in changed_ids], changed, len(ids) - len(pets))
