"""What is written to pets, in whole transactions; knows no HTTP."""

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
# How many old records go with one in so many new ones, so that they go without a daemon.
_SWEEP = 200
_SWEEP_INTERVAL = 20
_turns = count(1)
_INSERT = CompiledInsert(Pet)
_INSERT_ONCE = CompiledGuardedInsert(IdempotencyRecord, Pet, reference="pet_id")


class IdempotencyKeyReusedError(Exception):
    """The key has created another pet than the one that is asked for now."""


class IdempotencyKeyInUseError(Exception):
    """A request with the same key is under way."""


def create_pet(*, name: str, created_by: str | None = None, **optional: Unpack[OptionalTexts]) -> Pet:
    """A new, available pet; `created_by` is one of the texts of pets.origin."""
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
    """The pet that the client with this API key has created with this idempotency key within IDEMPOTENCY_PERIOD, or a
    new one; and whether it is new.

    The pet of an earlier request is as it was answered then, not as it may be now. The pet and its record are
    written together or not at all. Raises IdempotencyKeyReusedError and IdempotencyKeyInUseError.
    """
    now = now or timezone.now()
    texts: dict[str, Any] = {"name": name} | {field: optional.get(field) for field in OPTIONAL_TEXTS}
    once = _Once(api_key_id, idempotency_key, texts, created_by, now)
    if next(_turns) % _SWEEP_INTERVAL == 0:
        backend().run_blocking(partial(_sweep, now))
    pet = once.create()
    if pet is not None:
        return pet, True
    for pet_id, created_at, *answered in _ANSWERED.rows(api_key_id, idempotency_key):
        if created_at > now - IDEMPOTENCY_PERIOD:
            if answered != [*texts.values()]:
                raise IdempotencyKeyReusedError
            return Pet(id=pet_id, **texts), False
    return backend().run_blocking(once.create_again), True


class _Once(NamedTuple):
    """What a client asks for with an idempotency key."""

    api_key_id: int
    key: str
    texts: dict[str, Any]
    created_by: str | None
    now: datetime

    @property
    def lock(self) -> tuple[str, int]:
        return f"idempotency:{self.key}", self.api_key_id

    def create(self) -> Pet | None:
        """A new pet and its record, or None if there is a record, or one is being made."""
        record = {"api_key_id": self.api_key_id, "key": self.key, "created_at": self.now, **self.texts}
        return _INSERT_ONCE.write(record, {"created_by": self.created_by, **self.texts}, self.lock)

    @transaction.atomic
    def create_again(self) -> Pet:
        """A new pet in place of one that was created so long ago that this is forgotten."""
        if not backend().try_lock(*self.lock):
            raise IdempotencyKeyInUseError
        forgotten = IdempotencyRecord.objects.filter(created_at__lte=self.now - IDEMPOTENCY_PERIOD)
        forgotten.filter(api_key_id=self.api_key_id, key=self.key).delete()
        pet = self.create()
        if pet is None:  # another request was quicker
            raise IdempotencyKeyInUseError
        return pet


def _answered(api_key_id: int, key: str) -> QuerySet[IdempotencyRecord, Any]:
    records = IdempotencyRecord.objects.filter(api_key_id=api_key_id, key=key)
    return records.values_list("pet_id", "created_at", "name", *OPTIONAL_TEXTS)


_ANSWERED = CompiledQuery(_answered, 987_654_321, "no key")


@transaction.atomic
def _sweep(now: datetime) -> None:
    # SKIP LOCKED: what another request is sweeping already is no concern of this one.
    old = (
        IdempotencyRecord.objects.filter(created_at__lte=now - IDEMPOTENCY_PERIOD)
        .order_by("created_at")
        .select_for_update(skip_locked=True)
        .values_list("pk", flat=True)[:_SWEEP]
    )
    IdempotencyRecord.objects.filter(pk__in=list(old)).delete()
