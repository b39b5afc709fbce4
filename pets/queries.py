"""What the API reads of pets: the columns that it shows."""

from typing import cast

from django.db.models import QuerySet

from pets.fields import SHOWN
from pets.models import Pet
from petservice.db.compiled import CompiledQuery

# The values of SHOWN.
ShownPet = tuple[str | None, ...]

# Of no pet: an id, and a limit, that occur in the queries for nothing else.
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
    """The pet with this id, or None."""
    for row in _ONE.rows(pet_id):
        return cast(ShownPet, row)
    return None


def pets_after(after: str | None, limit: int) -> list[ShownPet]:
    """Pets with ids above `after`, by default all, oldest first; at most `limit`."""
    return cast(list[ShownPet], _FIRST.rows(limit) if after is None else _AFTER.rows(after, limit))
