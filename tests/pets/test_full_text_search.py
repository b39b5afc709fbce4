"""The full-text index of names and tags: exact the moment a pet is written, by any writer."""

from itertools import chain
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone

from pets import trash
from pets.fields import new_pet_id
from pets.models import Pet
from pets.search.words import search
from pets.services import create_pet, create_pet_once
from petservice.apikeys.models import APIKey
from tests.pets.changes import delete

pytestmark = pytest.mark.django_db
sqlite_only = pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL combines its indexes")


def run(statement: str, *values: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)


def insert(*names: str) -> None:
    """Insert sold pets by one statement of the database, which knows nothing of Django."""
    rows = [(new_pet_id(), name, "кошка", "sold", timezone.now()) for name in names]
    values = ", ".join(["(%s, %s, %s, %s, %s)"] * len(rows))
    run(f"INSERT INTO pets_pet (id, name, tag, status, created_at) VALUES {values}", *chain(*rows))


def found(text: str) -> list[str]:
    return sorted(search(Pet.objects.all(), text).values_list("name", flat=True))


def test_every_writer_is_followed_at_once(admin_user: User) -> None:
    key, _ = APIKey.objects.create_key(name="Acme")
    create_pet(name="New York", tag="Guinea pig")
    create_pet_once(api_key=key, idempotency_key="1", name="Old York")
    Pet.objects.bulk_create(Pet(name=f"Sir Max {number}", tag="кот") for number in range(3))
    insert("Lady 1", "Lady 2")
    assert found("york") == ["New York", "Old York"]
    assert found("КОТ") == ["Sir Max 0", "Sir Max 1", "Sir Max 2"]
    assert found("lady кош") == ["Lady 1", "Lady 2"]

    # The name alone, the tag alone, neither, and both.
    run("UPDATE pets_pet SET name = 'Plain' WHERE name = 'Old York'")
    run("UPDATE pets_pet SET tag = 'hamster' WHERE name = 'New York'")
    run("UPDATE pets_pet SET tag = NULL WHERE name = 'Sir Max 0'")
    Pet.objects.filter(name="Sir Max 1").update(status="sold")
    Pet.objects.filter(name="Sir Max 2").update(name="Straße", tag="Ёж")
    assert (found("york"), found("old"), found("plain")) == (["New York"], [], ["Plain"])
    assert (found("guinea"), found("hamster")) == ([], ["New York"])
    assert (found("кот"), found("max"), found("strasse ёж")) == (["Sir Max 1"], ["Sir Max 0", "Sir Max 1"], ["Straße"])

    (pet,) = Pet.objects.filter(name="Straße")
    event = delete(admin_user, pet)
    run("DELETE FROM pets_pet WHERE name = 'Lady 1'")
    assert (found("strasse"), found("lady")) == ([], ["Lady 2"])
    trash.put_back([event.items.get().pk])
    assert found("strasse") == ["Straße"]
    Pet.objects.all().delete()
    assert found("s") == found("york") == []


@sqlite_only
def test_the_values_of_filters_follow_every_writer(admin_user: User) -> None:
    def found_with(*filters: str) -> list[str]:
        return sorted(search(Pet.objects.all(), "sir", filters=filters).values_list("name", flat=True))

    Pet.objects.create(name="Sir Max", created_by="staff ada")
    Pet.objects.create(name="Sir Rex", tag="available untagged", created_by="key k Acme", status="pending")
    insert("Sir 1")
    assert (found_with("available"), found_with("pending"), found_with("sold")) == (["Sir Max"], ["Sir Rex"], ["Sir 1"])
    assert (found_with("sta"), found_with("key"), found_with("com")) == (["Sir Max"], ["Sir Rex"], [])
    assert (found_with("untagged"), found_with("sta", "sold")) == (["Sir Max"], [])

    Pet.objects.filter(name="Sir Max").update(status="sold")
    run("UPDATE pets_pet SET tag = NULL, created_through = NULL WHERE name = 'Sir Rex'")
    run("UPDATE pets_pet SET tag = 'x', created_through = 'command import_pets' WHERE name = 'Sir Max'")
    assert (found_with("available"), found_with("sold")) == ([], ["Sir 1", "Sir Max"])
    assert (found_with("key"), found_with("sta"), found_with("com", "sold")) == ([], [], ["Sir Max"])
    assert found_with("untagged", "pending") == ["Sir Rex"]
    event = delete(admin_user, Pet.objects.get(name="Sir Max"))
    assert found_with("sold") == ["Sir 1"]
    trash.put_back([event.items.get().pk])
    assert found_with("com", "sold") == ["Sir Max"]


@pytest.mark.parametrize(
    "name", ["ﷺ" * 255, "﷽" * 255, "ß" * 255, "'" * 255, '\\ & | ! :* ( ) <-> " AND NOT', "ΐ" * 255]
)
def test_any_name_can_be_written_and_found(name: str) -> None:
    create_pet(name=name, tag=name)

    if any(map(str.isalpha, name)):
        assert found(name) == [name]
    assert found("zebra") == []
