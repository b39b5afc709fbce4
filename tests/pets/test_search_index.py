"""The index of search terms, under all writers."""

import os
import threading
from itertools import count
from pathlib import Path

import pytest
from django.db import connection, transaction

from pets import search_index
from pets.models import Pet, SearchTerm, UnindexedPet
from pets.services import create_pet, create_pet_once
from petservice.apikeys.models import APIKey
from tests.service import Service

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def first_creations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the creations of other tests not decide which creation of a test indexes pets."""
    monkeypatch.setattr(search_index, "_creations", count(1))


def stored() -> set[tuple[str, str]]:
    return {(bytes(term).decode(), pk) for term, pk in SearchTerm.objects.values_list("term", "pet_id")}


def expected() -> set[tuple[str, str]]:
    return {(term, pet.pk) for pet in Pet.objects.all() for term in search_index.terms(pet.name, pet.tag)}


def test_the_index_has_the_terms_of_all_pets_after_any_write() -> None:
    pets = [create_pet(name=name, tag=tag) for name, tag in (("New York", None), ("Rex", "кот"), ("Rex", "dog"))]
    Pet.objects.bulk_create(Pet(name=f"Sir Max {number}") for number in range(5))
    with connection.cursor() as cursor:
        cursor.execute("UPDATE pets_pet SET name = name || ' II' WHERE name = 'Rex'")
    search_index.index_all()
    assert stored() == expected() != set()

    Pet.objects.filter(pk=pets[0].pk).update(name="Plain")
    Pet.objects.filter(pk=pets[1].pk).update(tag=None, name="Old Paris")
    Pet.objects.filter(pk=pets[1].pk).update(name="New Paris")
    Pet.objects.filter(name="Sir Max 1").delete()
    Pet.objects.filter(name="Sir Max 2").update(status="sold")
    search_index.index_all()
    assert stored() == expected()
    assert not UnindexedPet.objects.exists()


def test_names_of_one_ascii_word_are_not_recorded() -> None:
    create_pet(name="Rex2", tag="guinea pig")
    Pet.objects.update(name="Max", status="sold")
    Pet.objects.all().delete()

    assert not UnindexedPet.objects.exists()


def test_a_creation_indexes_recorded_pets_from_time_to_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_index, "_INTERVAL", 5)
    key, _ = APIKey.objects.create_key(name="Acme")

    for number in range(7):
        create_pet(name=f"Sir Rex {number}")
        create_pet_once(api_key_id=key.pk, idempotency_key=str(number), name=f"Lady Rex {number}")

    assert UnindexedPet.objects.count() < 5
    assert SearchTerm.objects.exists()


@pytest.mark.long
def test_long_names_in_a_script_without_spaces_are_indexed_as_fast_as_they_are_created() -> None:
    for number in range(300):
        create_pet(name="".join(chr(0x4E00 + (number + 7 * place) % 5000) for place in range(255)))

    assert UnindexedPet.objects.count() < 60


def test_a_creation_succeeds_even_if_the_index_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(search_index, "_INTERVAL", 1)
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE pets_searchterm RENAME TO elsewhere")

    assert create_pet(name="Sir Rex") == Pet.objects.get()
    assert "Pets were not indexed for the search" in caplog.text


def test_a_step_is_limited_by_the_number_of_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_index, "_MAX_TERMS", 100)
    for _ in range(5):
        create_pet(name=" ".join(f"w{number}" for number in range(60)))

    search_index.index_some()
    assert UnindexedPet.objects.count() == 3
    search_index.index_all()
    assert stored() == expected()


@pytest.mark.django_db(transaction=True)
def test_another_writer_delays_no_search_and_loses_no_pet() -> None:
    create_pet(name="Sir Rex")

    def index() -> None:
        assert search_index.index_some() is False
        connection.close()

    with transaction.atomic():
        search_index.index_some()
        other = threading.Thread(target=index)
        other.start()
        other.join()
    assert stored() == expected()
    Pet.objects.all().delete()
    search_index.index_all()
    assert stored() == set()


@pytest.mark.once
@pytest.mark.long
def test_pets_of_the_previous_version_are_indexed_by_the_migration(tmp_path: Path) -> None:
    environment = os.environ | {"DATABASE_URL": f"sqlite:///{tmp_path}/petservice.sqlite3"}
    database = Service("", None, tmp_path / "log", environment)
    database.manage("migrate", "pets", "0006")
    insert = "INSERT INTO pets_pet (id, name, status, created_at) VALUES ('{}', '{}', 'sold', '')"
    database.execute(insert.format("01890a5d-ac96-774b-bcce-b302099a8057", "New York"))

    database.manage("migrate")

    assert database.execute("SELECT term FROM pets_searchterm ORDER BY term") == [(b"nnew",), (b"nyork",)]
    assert database.execute("SELECT * FROM pets_unindexedpet") == []
