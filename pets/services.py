"""The writes of the API that are more than one statement, each in one transaction and independent of HTTP."""

from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from pets import creator
from pets.fields import OPTIONAL_TEXTS
from pets.models import IdempotencyRecord, Pet
from petservice.apikeys.models import APIKey
from petservice.db.backend import backend

IDEMPOTENCY_PERIOD = timedelta(hours=24)
# Maximum number of expired records that one request deletes. Requests delete them, because the service has no
# background job. The fast path leaves one of 250 requests to this module.
_MAX_DELETED = 500


class IdempotencyKeyReusedError(Exception):
    """An earlier request with this key created a pet with other fields."""


class IdempotencyKeyInUseError(Exception):
    """Another request with this key is still running."""


def create_pet_once(
    *,
    api_key: APIKey,
    idempotency_key: str,
    name: str,
    now: datetime | None = None,
    **optional: str | None,
) -> tuple[Pet, bool]:
    """Create a pet once for each idempotency key of an API key, and return it and whether it is new.

    A repeated request within IDEMPOTENCY_PERIOD gets the pet as it was created, even if it has changed since. Raises
    IdempotencyKeyReusedError and IdempotencyKeyInUseError.
    """
    now = now or timezone.now()
    texts: dict[str, Any] = {"name": name} | {field: optional.get(field) for field in OPTIONAL_TEXTS}
    # First without a transaction, because a repeated request seldom writes, and SQLite has one writer at a time.
    pet = _recorded_pet(api_key, idempotency_key, texts, now)
    if pet is not None:
        return pet, False
    with transaction.atomic():
        # Not a lock of the record, because a new one has no row yet that could be locked.
        if not backend().try_lock(lock_name(idempotency_key), api_key.pk):
            raise IdempotencyKeyInUseError
        _delete_expired_records(now)
        pet = _recorded_pet(api_key, idempotency_key, texts, now)
        if pet is not None:
            return pet, False
        pet = Pet.objects.create(**texts, created_by=creator.of_key(api_key.prefix, api_key.name))
        IdempotencyRecord.objects.create(api_key=api_key, key=idempotency_key, pet_id=pet.pk, created_at=now, **texts)
        return pet, True


def _recorded_pet(api_key: APIKey, idempotency_key: str, texts: dict[str, Any], now: datetime) -> Pet | None:
    """Return the pet that an earlier request created, or None. Raises IdempotencyKeyReusedError if its texts differ."""
    record = IdempotencyRecord.objects.filter(api_key=api_key, key=idempotency_key).first()
    if record is None:
        return None
    if record.created_at <= now - IDEMPOTENCY_PERIOD:
        record.delete()  # the key may be used again
        return None
    if any(getattr(record, field) != text for field, text in texts.items()):
        raise IdempotencyKeyReusedError
    return Pet(id=record.pet_id, **texts)


def lock_name(idempotency_key: str) -> str:
    """Return the name of the lock that a request with this key holds; its number is the primary key of the API key."""
    return f"idempotency:{idempotency_key}"


def _delete_expired_records(now: datetime) -> None:
    # SKIP LOCKED: records that another request deletes now can be skipped.
    expired = list(
        IdempotencyRecord.objects.filter(created_at__lte=now - IDEMPOTENCY_PERIOD)
        .order_by("created_at")
        .select_for_update(skip_locked=True)
        .values_list("pk", flat=True)[:_MAX_DELETED]
    )
    if expired:
        IdempotencyRecord.objects.filter(pk__in=expired).delete()
