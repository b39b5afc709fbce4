"""Writes in a greenlet pool: those that are rejected on SQLite, and those that are committed together."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from functools import partial
from typing import Any

import pytest
from django.db import IntegrityError, NotSupportedError, OperationalError, connection, transaction

from pets.models import IdempotencyRecord, Pet
from pets.services import IdempotencyKeyInUseError, create_pet, create_pet_once
from petservice.apikeys.models import APIKey
from petservice.db.backend import backend
from petservice.server.greenlets import GreenletPool
from store.services import inventory_counts

only_on_sqlite = pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL has no group commit")


async def outcomes(size: int, functions: Iterable[Callable[[], Any]]) -> list[Any]:
    """Run functions at the same time in a greenlet pool, and return their results or errors."""
    pool = GreenletPool(size, timeout=10)
    found = await asyncio.gather(*map(pool.call, functions), return_exceptions=True)
    pool.close()
    return found


def save() -> None:
    Pet(name="Rex").save()


def save_in_a_transaction() -> None:
    with transaction.atomic():
        Pet.objects.count()
        save()


@only_on_sqlite
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("write", [save, save_in_a_transaction, lambda: Pet.objects.bulk_create([Pet(name="Rex")])])
async def test_write_that_would_block_other_calls_is_rejected(write: Callable[[], None]) -> None:
    pool = GreenletPool(1)
    with pytest.raises(NotSupportedError, match="must not write to SQLite"):
        await pool.call(write)
    assert await pool.call(Pet.objects.count) == 0


@only_on_sqlite
@pytest.mark.django_db(transaction=True)
async def test_other_errors_of_statements_keep_their_message() -> None:
    def query() -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT * FROM nowhere")

    with pytest.raises(OperationalError, match="no such table: nowhere"):
        await GreenletPool(1).call(query)


@only_on_sqlite
@pytest.mark.django_db(transaction=True)
def test_simultaneous_inserts_are_all_stored() -> None:
    names = [f"Pet {number}" for number in range(300)]

    made = asyncio.run(outcomes(64, [partial(create_pet, name=name) for name in names]))

    assert [pet.name for pet in made] == names
    assert Pet.objects.count() == inventory_counts()["available"] == 300


@only_on_sqlite
@pytest.mark.django_db(transaction=True)
def test_insert_that_violates_a_constraint_does_not_affect_the_others() -> None:
    names = [f"Pet {number}" if number % 10 else "" for number in range(50)]

    made = asyncio.run(outcomes(64, [partial(create_pet, name=name) for name in names]))

    assert [isinstance(outcome, IntegrityError) for outcome in made] == [number % 10 == 0 for number in range(50)]
    assert Pet.objects.count() == 45


@pytest.mark.django_db(transaction=True)
def test_simultaneous_requests_with_idempotency_keys_create_one_pet_for_each_key() -> None:
    """Each key is used twice, and the pet of one key violates a constraint."""
    api_key, _ = APIKey.objects.create_key(name="Acme")

    requests = [
        partial(create_pet_once, api_key_id=api_key.pk, idempotency_key=f"{key}", name="" if key == 7 else f"{key}")
        for key in (number // 2 for number in range(40))
    ]

    found = asyncio.run(outcomes(backend().concurrent_writes, requests))

    rejected = [outcome for outcome in found if isinstance(outcome, IntegrityError)]
    in_use = [outcome for outcome in found if isinstance(outcome, IdempotencyKeyInUseError)]
    made = [outcome for outcome in found if outcome not in rejected + in_use]
    assert len(rejected) + len(in_use) + len(made) == 40
    assert rejected
    assert sum(is_new for _, is_new in made) == Pet.objects.count() == IdempotencyRecord.objects.count() == 19
    assert {pet.id for pet, _ in made} == set(Pet.objects.values_list("pk", flat=True))
    assert inventory_counts()["available"] == 19


@pytest.mark.long
@only_on_sqlite
@pytest.mark.django_db(transaction=True)
def test_inserts_fail_during_a_long_write_of_another_and_succeed_afterwards() -> None:
    inserts = [partial(create_pet, name="Rex")] * 3
    with closing(sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        failures = asyncio.run(outcomes(10, inserts))

    assert [str(failure) for failure in failures] == ["database is locked"] * 3
    assert [pet.name for pet in asyncio.run(outcomes(10, inserts))] == ["Rex"] * 3
    assert Pet.objects.count() == 3
