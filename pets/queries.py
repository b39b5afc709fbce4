"""What the API reads of pets: the three columns that it shows."""

from typing import NamedTuple

from django.db.models import QuerySet

from pets.models import Pet
from petservice.api.queries import CompiledQuery


class ShownPet(NamedTuple):
    """A pet as the API shows it."""

    id: str
    name: str
    tag: str | None


# Of no pet: an id, and a limit, that occur in the queries for nothing else.
_ID, _LIMIT = "00000000-0000-7000-8000-000000000000", 987_654_321


def _one(pet_id: str) -> QuerySet[Pet, tuple[str, str, str | None]]:
    return Pet.objects.filter(pk=pet_id).values_list(*ShownPet._fields)


def _first(limit: int) -> QuerySet[Pet, tuple[str, str, str | None]]:
    return Pet.objects.order_by("pk").values_list(*ShownPet._fields)[:limit]


def _after(after: str, limit: int) -> QuerySet[Pet, tuple[str, str, str | None]]:
    return Pet.objects.filter(pk__gt=after).order_by("pk").values_list(*ShownPet._fields)[:limit]


_ONE = CompiledQuery(_one, _ID)
_FIRST = CompiledQuery(_first, _LIMIT)
_AFTER = CompiledQuery(_after, _ID, _LIMIT)


def pet(pet_id: str) -> ShownPet | None:
    """The pet with this id, or None."""
    for row in _ONE.rows(pet_id):
        return ShownPet._make(row)
    return None


def pets_after(after: str | None, limit: int) -> list[ShownPet]:
    """Pets with ids above `after`, by default all, oldest first; at most `limit`."""
    rows = _FIRST.rows(limit) if after is None else _AFTER.rows(after, limit)
    return [ShownPet._make(row) for row in rows]
