"""What is written to pets, in whole transactions; knows no HTTP."""

from datetime import datetime, timedelta
from typing import Any, Unpack

from django.db import transaction
from django.utils import timezone

from pets.fields import OPTIONAL_TEXTS, OptionalTexts
from pets.models import IdempotencyRecord, Pet
from petservice.db.backend import backend
from petservice.db.compiled import CompiledInsert

IDEMPOTENCY_PERIOD = timedelta(hours=24)
# How many old records each new one takes away, so that they go without a daemon.
_SWEEP = 10
_INSERT = CompiledInsert(Pet)


class IdempotencyKeyReusedError(Exception):
    """The key has created another pet than the one that is asked for now."""


class IdempotencyKeyInUseError(Exception):
    """A request with the same key is under way."""


def create_pet(*, name: str, created_by: str | None = None, **optional: Unpack[OptionalTexts]) -> Pet:
    """A new, available pet; `created_by` is one of the texts of pets.origin."""
    return _INSERT.write(name=name, created_by=created_by, **optional)


@transaction.atomic
def create_pet_once(
    *,
    api_key_id: int,
    idempotency_key: str,
    name: str,
    created_by: str | None = None,
    now: datetime | None = None,
    **optional: Unpack[OptionalTexts],
) -> tuple[Pet, bool]:
    """The pet that the client with this API key has created with this idempotency key within IDEMPOTENCY_PERIOD, or a
    new one; and whether it is new.

    The pet of an earlier request is as it was answered then, not as it may be now. The pet and its record are
    written together or not at all. Raises IdempotencyKeyReusedError and IdempotencyKeyInUseError.
    """
    now = now or timezone.now()
    texts: dict[str, Any] = {"name": name} | {field: optional.get(field) for field in OPTIONAL_TEXTS}
    if not backend().try_lock(f"idempotency:{idempotency_key}", api_key_id):
        raise IdempotencyKeyInUseError
    record = IdempotencyRecord.objects.filter(api_key_id=api_key_id, key=idempotency_key).first()
    if record is not None and record.created_at > now - IDEMPOTENCY_PERIOD:
        if any(getattr(record, field) != text for field, text in texts.items()):
            raise IdempotencyKeyReusedError
        return Pet(id=record.pet_id, **texts), False
    if record is not None:
        record.delete()
    _sweep(now)
    pet = create_pet(**texts, created_by=created_by)
    IdempotencyRecord.objects.create(api_key_id=api_key_id, key=idempotency_key, pet_id=pet.id, created_at=now, **texts)
    return pet, True


def _sweep(now: datetime) -> None:
    # SKIP LOCKED: what another request is sweeping already is no concern of this one.
    old = (
        IdempotencyRecord.objects.filter(created_at__lte=now - IDEMPOTENCY_PERIOD)
        .order_by("created_at")
        .select_for_update(skip_locked=True)
        .values_list("pk", flat=True)[:_SWEEP]
    )
    IdempotencyRecord.objects.filter(pk__in=list(old)).delete()
