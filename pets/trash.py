"""The trash: pets that staff deleted, which are items of the journal, and can be put back with their ids.

Only the admin deletes pets through the trash. Commands and programs that use the ORM delete them directly.
"""

from collections.abc import Sequence
from typing import Any

from django.utils import timezone

from pets.fields import EDITABLE
from pets.models import Pet, TrashedPet
from pets.models.journal import values_of
from petservice.journal.recording import Change
from petservice.journal.retention import empty_trash


def delete(pets: Sequence[Pet], *, message: str = "") -> list[Change]:
    """Delete pets, which the current transaction has locked. The caller records the changes, which fills the trash."""
    Pet.objects.filter(pk__in=[pet.pk for pet in pets]).delete()
    empty_trash(now=timezone.now(), beyond=len(pets))
    return [Change(pet.pk, pet.name, values_of(pet), None, message) for pet in pets]


def put_back(keys: Sequence[int], *, message: str = "") -> tuple[list[Change], list[TrashedPet]]:
    """Create deleted pets again with all their values, and take them out of the trash.

    Returns the changes to record, and those whose id belongs to another pet now. Keys that are not in the trash are
    ignored. Raises IntegrityError if an import creates one of these ids after the query for them.
    """
    locked = TrashedPet.objects.select_for_update(of=("self",)).filter(pk__in=keys).order_by("pk")
    # The last one comes back, if several deleted pets have one id.
    trashed = sorted(locked, key=lambda one: (one.event.at, one.pk), reverse=True)
    ids = [one.record_id for one in trashed]
    existing = set(Pet.objects.filter(pk__in=ids).values_list("pk", flat=True))
    back: list[TrashedPet] = []
    taken: list[TrashedPet] = []
    for one in trashed:
        (taken if one.record_id in existing else back).append(one)
        existing.add(one.record_id)
    pets = [one.pet for one in back]
    write_with_sales(pets)
    TrashedPet.objects.filter(pk__in=[one.pk for one in back]).update(in_trash_until=None)
    changes = [Change(pet.pk, pet.name, None, {name: getattr(pet, name) for name in EDITABLE}, message) for pet in pets]
    return changes, taken


def write_with_sales(pets: Sequence[Pet], **options: Any) -> None:
    """Write pets by `bulk_create` with these options, and with the times of their sales, also unknown ones."""
    # A trigger gives the present time to a sold pet without a time.
    unknown = [pet for pet in pets if pet.status == Pet.Status.SOLD and pet.sold_at is None]
    Pet.objects.bulk_create(pets, **options)
    if unknown:
        Pet.objects.filter(pk__in=[pet.pk for pet in unknown]).update(sold_at=None)
    for pet in unknown:
        pet.sold_at = None  # which PostgreSQL has set in these objects, too
