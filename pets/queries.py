"""The queries of the API for pets, compiled once."""

from typing import cast

from django.db.models import QuerySet

from pets.fields import SHOWN
from pets.models import Pet
from petservice.db.compiled import CompiledQuery

# The values of the fields in SHOWN.
ShownPet = tuple[str | None, ...]

# Placeholders for an id and a limit, with values that occur nowhere else in the queries.
_ID, _LIMIT = "00000000-0000-7000-8000-000000000000", 987_654_321


def _one(pet_id: str) -> QuerySet[Pet, ShownPet]:
    return Pet.objects.filter(pk=pet_id).values_list(*SHOWN)


def _first(limit: int) -> QuerySet[Pet, ShownPet]:
    return Pet.objects.order_by("pk").values_list(*SHOWN)[:limit]


def _after(after: str, limit: int) -> QuerySet[Pet, ShownPet]:
    return Pet.objects.filter(pk__gt=after).order_by("pk").values_list(*SHOWN)[:limit]


_ONE = CompiledQuery(_one, _ID)
_FIRST = CompiledQuery(_first, _LIMIT)
_AFTER = CompiledQuery(_after, _ID, _LIMIT)


def pet(pet_id: str) -> ShownPet | None:
    """Return the pet with this id, or None."""
    for row in _ONE.rows(pet_id):
        return cast(ShownPet, row)
    return None


def pets_after(after: str | None, limit: int) -> list[ShownPet]:
    """Return at most `limit` pets with ids above `after`, or from the first pet on, oldest first."""
    return cast(list[ShownPet], _FIRST.rows(limit) if after is None else _AFTER.rows(after, limit))
