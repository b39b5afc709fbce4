"""The pets that staff select in a list, compared with the values that the list showed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.exceptions import BadRequest
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from pets.admin.changelist import count_of_pets
from pets.fields import EDITABLE
from pets.models import Pet
from petservice.admin_pages.bounded_paginator import MAX_COUNTED
from petservice.api.validators import is_id
from petservice.db.lookups import Among
from petservice.journal.sentences import quoted

# The field of a confirmation page that holds the selection. One field, because Django limits the number of fields.
FIELD = "selection"
# Maximum number of pets that a message names, so that it stays readable.
MAX_NAMED = 10
_SHOWN = "shown-"

# The values of a pet that the user saw, by the names of the fields that the request contains.
# Texts are short digests, so that a selection of 10,000 pets fits into a form.
Shown = Mapping[str, str]
# These values by the ids of the selected pets.
Selection = dict[str, Shown]
# The status is first, because a form that knows only the status sends it alone.
_FIELDS = tuple(reversed(EDITABLE))


def shown(pet: Any) -> Shown:
    """Return the present values of a pet, or of a row of the table, as a list sends them."""
    return {name: _token(name, getattr(pet, name)) for name in _FIELDS}


def _token(name: str, value: str | None) -> str:
    if name == "status":
        return str(value)
    return blake2b((value or "").encode(errors="surrogatepass"), digest_size=4).hexdigest()


def as_text(values: Shown) -> str:
    """Return these values as the text of a hidden field."""
    return ":".join(values.get(name, "") for name in _FIELDS)


def from_text(text: str) -> Shown:
    """Return the values that a hidden field has. Raises BadRequest if the text is invalid."""
    values = dict(zip(_FIELDS, text.split(":"), strict=False))
    if values.get("status", "") not in ("", *Pet.Status.values):
        raise BadRequest("The selection of pets is invalid.")
    return {name: value for name, value in values.items() if value}


def shown_values(pet: Pet) -> SafeString:
    """Return the hidden field with the values that the list shows for a pet."""
    return format_html('<input type="hidden" name="{}{}" value="{}">', _SHOWN, pet.pk, as_text(shown(pet)))


def read(request: HttpRequest, queryset: QuerySet[Any]) -> Selection:
    """Return the selected pets.

    If all pages are selected, these are the pets of the queryset, at most one more than MAX_COUNTED.
    """
    post = request.POST
    if post.get(FIELD):
        pairs = (text.partition(":") for text in post[FIELD].split())
        return _checked({pk: from_text(values) for pk, _, values in pairs})
    listed = {name.removeprefix(_SHOWN): from_text(str(text)) for name, text in post.items() if name.startswith(_SHOWN)}
    if post.get("select_across", "0") not in ("", "0"):
        return _checked(of_queryset(queryset) | listed)
    return _checked({pk: listed.get(pk, {}) for pk in post.getlist(ACTION_CHECKBOX_NAME)})


def of_queryset(queryset: QuerySet[Any]) -> Selection:
    """Return the pets of a queryset with their present values, at most one more than MAX_COUNTED."""
    rows = queryset.values_list("pk", *EDITABLE, named=True)[: MAX_COUNTED + 1]
    return {row.pk: shown(row) for row in rows}


def as_field(selection: Selection) -> str:
    """Return the value of the field that holds the selection on a confirmation page."""
    return " ".join(f"{pk}:{as_text(values)}" for pk, values in selection.items())


def _checked(selection: Selection) -> Selection:
    if not all(is_id(pk) for pk in selection):
        raise BadRequest("The selection of pets is invalid.")
    return selection


@dataclass(frozen=True)
class Comparison:
    """The selected pets that are as the list showed them, those that differ, and the number that was deleted."""

    fields: Sequence[str]  # that were compared
    unchanged: list[Pet]
    changed: dict[Pet, list[str]]  # with the names of the fields that differ
    deleted: int

    def warnings(self, verb: str) -> list[str]:
        """Return messages about the pets that were left alone, with the verb of what was not done to them."""
        found = []
        if len(self.changed) == 1:
            ((pet, fields),) = self.changed.items()
            found.append(f"“{pet}” was not {verb}: someone else {_change(pet, fields)} in the meantime.")
        elif self.changed:
            what = f"their {self.fields[0]}" if len(self.fields) == 1 else "them"
            found.append(
                f"{count_of_pets(len(self.changed))} were not {verb}, because someone else changed {what} in the "
                f"meantime: {named([f'“{pet}” ({_values(pet, fields)})' for pet, fields in self.changed.items()])}."
            )
        if self.deleted:
            were, them = ("was", "it") if self.deleted == 1 else ("were", "them")
            found.append(
                f"{count_of_pets(self.deleted)} {were} not {verb}, because someone else deleted {them} in the meantime."
            )
        return found


def named(names: Sequence[str]) -> str:
    """Return the first names of a list, and the number of the others."""
    more = f" and {len(names) - MAX_NAMED:,} more" if len(names) > MAX_NAMED else ""
    return ", ".join(names[:MAX_NAMED]) + more


def _change(pet: Pet, fields: Sequence[str]) -> str:
    if [*fields] == ["status"]:
        return f"set it to {pet.status}"
    return "changed its " + " and its ".join(f"{name} to {quoted(getattr(pet, name))}" for name in fields)


def _values(pet: Pet, fields: Sequence[str]) -> str:
    values = {name: quoted(getattr(pet, name)) for name in fields}
    return ", ".join(value if name == "status" else f"{name} {value}" for name, value in values.items())


def differences(pet: Pet, values: Shown, fields: Sequence[str] = EDITABLE) -> list[str]:
    """Return the names of the fields, among these, whose values are not those that the user saw."""
    return [name for name in fields if values.get(name, "") not in ("", _token(name, getattr(pet, name)))]


def compare(
    selection: Selection,
    fields: Sequence[str] = EDITABLE,
    wanted: Mapping[str, str | None] | None = None,
    *,
    lock: bool = False,
) -> Comparison:
    """Compare these fields of the selected pets with the database.

    `wanted` has the values that the first field will get. A pet that has its wanted value already counts as unchanged.
    With `lock`, the pets stay locked until the current transaction ends.
    """
    queryset = Pet.objects.select_for_update() if lock else Pet.objects.all()
    pets = list(queryset.filter(Among("pk", [*selection])).order_by("pk"))
    changed = {pet: found for pet in pets if (found := differences(pet, selection[pet.pk], fields))}
    for pet in [pet for pet in changed if wanted and pet.pk in wanted and getattr(pet, fields[0]) == wanted[pet.pk]]:
        del changed[pet]
    return Comparison(fields, [pet for pet in pets if pet not in changed], changed, len(selection) - len(pets))
