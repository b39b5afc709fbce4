"""The trash: pets that staff deleted, which lie in a table of their own and can be put back with their ids.

Only the admin deletes pets through the trash. Commands and programs that use the ORM delete them directly.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.contrib.admin.models import CHANGE
from django.db import IntegrityError, transaction
from django.utils import timezone

from pets import history
from pets.fields import new_pet_id
from pets.models import Pet, TrashedPet
from petservice.db.lookups import Among

# Number of expired rows that one change deletes beyond the number of its own rows, so that the trash does not grow.
_MAX_DELETED = 200
# The fields that a pet has in the trash as well.
_FIELDS = [field.attname for field in Pet._meta.concrete_fields]


def move(pets: Sequence[Pet], *, deleted_by: str, now: datetime) -> None:
    """Move pets, which the current transaction has locked, into the trash."""
    ids = [pet.pk for pet in pets]
    # Keys of the trash that another deleted pet has. Only the holder of the lock could add the key of a pet.
    taken = set(TrashedPet.objects.filter(Among("pk", ids)).values_list("pk", flat=True))
    rows = [TrashedPet(**_values(pet), deleted_at=now, deleted_by=deleted_by) for pet in pets]
    for row in rows:
        if row.pk in taken:
            row.pk, row.pet_id = new_pet_id(), row.pk
    TrashedPet.objects.bulk_create(rows)
    Pet.objects.filter(Among("pk", ids)).delete()


class PutBack(NamedTuple):
    """The pets that were put back, and those whose id belongs to another pet now."""

    pets: list[Pet]
    taken: list[TrashedPet]


def put_back(keys: Sequence[str], *, user_id: Any, message: str, now: datetime | None = None) -> PutBack:
    """Create deleted pets again with all their values, take them out of the trash, and record it in their history.

    Keys that are not in the trash are ignored.
    """
    try:
        return _put_back(keys, user_id, message, now)
    except IntegrityError:  # an import created one of these ids after the query for them, so that it is found now
        return _put_back(keys, user_id, message, now)


@transaction.atomic
def _put_back(keys: Sequence[str], user_id: Any, message: str, now: datetime | None) -> PutBack:
    now = now or timezone.now()
    trashed = list(TrashedPet.unexpired(now=now).select_for_update().filter(Among("pk", keys)).order_by("pk"))
    ids = [one.original_id for one in trashed]
    existing = set(Pet.objects.filter(Among("pk", ids)).values_list("pk", flat=True))
    back: list[TrashedPet] = []
    taken: list[TrashedPet] = []
    # The last one comes back, if several deleted pets have one id.
    for one in sorted(trashed, key=lambda one: one.deleted_at, reverse=True):
        (taken if one.original_id in existing else back).append(one)
        existing.add(one.original_id)
    pets = [Pet(**_values(one) | {"id": one.original_id}) for one in back]
    Pet.objects.bulk_create(pets)
    TrashedPet.objects.filter(Among("pk", [one.pk for one in back])).delete()
    history.write(user_id, (history.Entry(pet, CHANGE, message) for pet in pets))
    return PutBack(pets, taken)


def _values(pet: Pet | TrashedPet) -> dict[str, Any]:
    return {name: getattr(pet, name) for name in _FIELDS}


def delete_expired(*, now: datetime, beyond: int) -> None:
    """Delete some expired rows, a few more than `beyond`. Changes by staff call it, as there is no background job."""
    # SKIP LOCKED: rows that another change deletes now can be skipped.
    expired = (
        TrashedPet.objects.filter(deleted_at__lte=now - TrashedPet.LIFETIME)
        .order_by("deleted_at", "pk")
        .select_for_update(skip_locked=True)
        .values_list("pk", flat=True)[: beyond + _MAX_DELETED]
    )
    TrashedPet.objects.filter(Among("pk", list(expired))).delete()
