"""Creations that wait together share a commit, but not their API keys."""

import asyncio
import gc
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from pets.fields import new_pet_id
from pets.models import IdempotencyRecord, Pet
from petservice.fastpath.postgresql import PostgreSQL
from petservice.fastpath.shared_writes import SharedWrites
from petservice.fastpath.sqlite import SQLite

pytestmark = pytest.mark.django_db(transaction=True)


def create_together(*creations: tuple[str, str, str | None], leaving: int = 0) -> list[Any]:
    """Create pets, each with an API key, a name and maybe an Idempotency-Key, and return the outcomes or errors.

    The clients of the first ones, `leaving`, do not wait for the outcome.
    """
    database = SQLite() if connection.vendor == "sqlite" else PostgreSQL()

    async def create() -> list[Any]:
        pets = ({"id": new_pet_id(), "name": name, "tag": None} for _, name, _ in creations)
        waiting = [
            asyncio.create_task(database.create(key, pet, once))
            for (key, _, once), pet in zip(creations, pets, strict=True)
        ]
        await asyncio.sleep(0)
        for task in waiting[:leaving]:
            task.cancel()
        outcomes: list[Any] = await asyncio.gather(*waiting, return_exceptions=True)
        if isinstance(database, PostgreSQL):
            for cursor in database._writing.idle:
                await cursor.connection.close()
        return outcomes

    return asyncio.run(create())


def test_of_two_creations_with_one_idempotency_key_one_creates_a_pet(create_key: Callable[..., str]) -> None:
    key = create_key()

    outcomes = create_together((key, "Rex", "once"), (key, "Tom", "once"))

    pet = Pet.objects.get()
    created = [name for name, (_, is_created) in zip(("Rex", "Tom"), outcomes, strict=True) if is_created]
    assert created == [pet.name]
    assert pet.pk == IdempotencyRecord.objects.get().pet_id


def test_a_client_that_leaves_stops_no_creation_of_another(create_key: Callable[..., str]) -> None:
    key = create_key()

    _, outcome = create_together((key, "Rex", None), (key, "Tom", None), leaving=1)

    assert outcome[1] is True
    assert Pet.objects.filter(name="Tom").exists()


@pytest.mark.once
def test_an_error_of_the_database_whose_clients_have_left_logs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    failed = asyncio.Event()

    async def fail(_: list[Any]) -> list[Any]:
        failed.set()
        raise OSError("The disk is full.")

    async def leave() -> None:
        creation = asyncio.create_task(SharedWrites(fail).add("Rex"))
        await asyncio.sleep(0)
        creation.cancel()
        await asyncio.wait_for(failed.wait(), timeout=5)

    asyncio.run(leave())
    gc.collect()

    assert not caplog.records


def test_creations_with_several_api_keys_have_each_its_own_creator_and_rights(create_key: Callable[..., str]) -> None:
    ours, theirs, reader = create_key(name="Ours"), create_key(name="Theirs"), create_key(access="read")

    outcomes = create_together(
        *((ours, "Rex", None), (theirs, "Tom", "once"), (reader, "Kim", None), ("unknown", "Kit", "once")),
    )

    assert [outcome and outcome[1] for outcome in outcomes] == [True, True, False, None]
    creators = dict(Pet.objects.values_list("name", "created_by"))
    assert creators == {"Rex": f"key {ours[:18]} Ours", "Tom": f"key {theirs[:18]} Theirs"}
    assert IdempotencyRecord.objects.get().api_key.name == "Theirs"
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(DISTINCT xmin::text) FROM pets_pet")
            assert cursor.fetchone() == (1,)  # one transaction
