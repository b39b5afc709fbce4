"""Creations that share a commit on SQLite do not share their errors."""

import asyncio
import sqlite3
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from pets.fields import new_pet_id
from pets.models import Pet

pytestmark = [
    pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL commits each creation by itself"),
    pytest.mark.once,
    pytest.mark.django_db(transaction=True),
]


def pet(name: str) -> dict[str, Any]:
    return {"id": new_pet_id(), "name": name, "tag": None}


def test_a_creation_that_the_database_rejects_fails_alone(create_key: Callable[..., str]) -> None:
    from petservice.fastpath.sqlite import SQLite

    key = create_key()
    database = SQLite()

    async def create_together() -> list[Any]:
        names = ["Rex", "", "Tom"]  # no pet may have an empty name
        creations = (database.create(key, pet(name), None) for name in names)
        return await asyncio.gather(*creations, return_exceptions=True)

    async def create_later() -> Any:
        return await database.create(key, pet("Kim"), None)

    first, rejected, third = asyncio.run(create_together())
    assert first[1]
    assert isinstance(rejected, sqlite3.IntegrityError)
    assert third[1]
    assert asyncio.run(create_later())[1]
    assert set(Pet.objects.values_list("name", flat=True)) == {"Rex", "Tom", "Kim"}
    database.close()


def test_of_two_creations_with_one_idempotency_key_in_a_transaction_one_creates_a_pet(
    create_key: Callable[..., str],
) -> None:
    from petservice.fastpath.sqlite import SQLite

    key = create_key()
    database = SQLite()

    async def create_together() -> list[Any]:
        pets = [pet("Rex"), pet("Rex")]
        records = ({"key": "once", "pet_id": one["id"], "name": "Rex", "tag": None} for one in pets)
        return await asyncio.gather(*map(database.create, [key, key], pets, records))

    assert [is_created for _, is_created in asyncio.run(create_together())] == [True, False]
    assert Pet.objects.count() == 1
    database.close()
