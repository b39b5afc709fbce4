"""The writes of the API to pets, each in one transaction and independent of HTTP."""

from datetime import datetime, timedelta
from functools import partial
from itertools import count
from typing import Any, NamedTuple, Unpack

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from pets.fields import OPTIONAL_TEXTS, OptionalTexts
from pets.models import IdempotencyRecord, Pet
from petservice.db.backend import backend
from petservice.db.compiled import CompiledGuardedInsert, CompiledInsert, CompiledQuery

IDEMPOTENCY_PERIOD = timedelta(hours=24)
# Maximum number of expired records that one request deletes, and the number of requests between two deletions.
# Requests delete the records because the service has no background job.
_MAX_DELETED = 200
_DELETION_INTERVAL = 20
_request_numbers = count(1)
_INSERT = CompiledInsert(Pet)
_INSERT_ONCE = CompiledGuardedInsert(IdempotencyRecord, Pet, reference="pet_id")


class IdempotencyKeyReusedError(Exception):
    """An earlier request with this key created a pet with other fields."""


class IdempotencyKeyInUseError(Exception):
    """Another request with this key is still running."""


def create_pet(*, name: str, created_by: str | None = None, **optional: Unpack[OptionalTexts]) -> Pet:
    """Create an available pet. `created_by` is a text that pets.creator makes."""
    return _INSERT.write(name=name, created_by=created_by, **optional)


def create_pet_once(
    *,
    api_key_id: int,
    idempotency_key: str,
    name: str,
    created_by: str | None = None,
    now: datetime | None = None,
    **optional: Unpack[OptionalTexts],
) -> tuple[Pet, bool]:
    """Create a pet once for each idempotency key of an API key, and return it and whether it is new.

    A repeated request within IDEMPOTENCY_PERIOD gets the pet as it was created, even if it has changed since. The pet
    and its record are written in one transaction. Raises IdempotencyKeyReusedError and IdempotencyKeyInUseError.
    """
    now = now or timezone.now()
    texts: dict[str, Any] = {"name": name} | {field: optional.get(field) for field in OPTIONAL_TEXTS}
    once = _Once(api_key_id, idempotency_key, texts, created_by, now)
    if next(_request_numbers) % _DELETION_INTERVAL == 0:
        backend().run_blocking(partial(_delete_expired_records, now))
    pet = once.create()
    if pet is not None:
        return pet, True
    for pet_id, created_at, *recorded in _RECORDED.rows(api_key_id, idempotency_key):
        if created_at > now - IDEMPOTENCY_PERIOD:
            if recorded != [*texts.values()]:
                raise IdempotencyKeyReusedError
            return Pet(id=pet_id, **texts), False
    return backend().run_blocking(once.create_again), True


def lock_name(idempotency_key: str) -> str:
    """Return the name of the lock that a request with this key holds; its number is the primary key of the API key."""
    return f"idempotency:{idempotency_key}"


class _Once(NamedTuple):
    """A request to create a pet with an idempotency key."""

    api_key_id: int
    key: str
    texts: dict[str, Any]
    created_by: str | None
    now: datetime

    @property
    def lock(self) -> tuple[str, int]:
        return lock_name(self.key), self.api_key_id

    def create(self) -> Pet | None:
        """Create a pet and its record, or return None if there is a record or another request creates one now."""
        record = {"api_key_id": self.api_key_id, "key": self.key, "created_at": self.now, **self.texts}
        return _INSERT_ONCE.write(record, {"created_by": self.created_by, **self.texts}, self.lock)

    @transaction.atomic
    def create_again(self) -> Pet:
        """Create a pet and replace the expired record of the same key."""
        if not backend().try_lock(*self.lock):
            raise IdempotencyKeyInUseError
        expired = IdempotencyRecord.objects.filter(created_at__lte=self.now - IDEMPOTENCY_PERIOD)
        expired.filter(api_key_id=self.api_key_id, key=self.key).delete()
        pet = self.create()
        if pet is None:  # another request has created one in between
            raise IdempotencyKeyInUseError
        return pet


def _recorded(api_key_id: int, key: str) -> QuerySet[IdempotencyRecord, Any]:
    records = IdempotencyRecord.objects.filter(api_key_id=api_key_id, key=key)
    return records.values_list("pet_id", "created_at", "name", *OPTIONAL_TEXTS)


_RECORDED = CompiledQuery(_recorded, 987_654_321, "no key")


@transaction.atomic
def _delete_expired_records(now: datetime) -> None:
    # SKIP LOCKED: records that another request deletes now can be skipped.
    expired = (
        IdempotencyRecord.objects.filter(created_at__lte=now - IDEMPOTENCY_PERIOD)
        .order_by("created_at")
        .select_for_update(skip_locked=True)
        .values_list("pk", flat=True)[:_MAX_DELETED]
    )
    IdempotencyRecord.objects.filter(pk__in=list(expired)).delete()
