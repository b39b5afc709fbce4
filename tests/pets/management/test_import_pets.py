"""The command import_pets with files, and its entry in the audit."""

from collections.abc import Callable
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.urls import reverse

from pets.admin.changes import selection
from pets.fields import new_pet_id
from pets.models import ImportedFile, Pet
from pets.services import create_pet
from petservice.journal.models import Event
from store.services import inventory_counts
from tests.concurrent_write import write_before
from tests.pets.management.commands import all_pets, run

pytestmark = pytest.mark.django_db


def errors_of_import(file: Path, *arguments: object) -> list[str]:
    """Run an import that fails, and return the lines of its errors."""
    output = StringIO()
    with pytest.raises(CommandError) as caught:
        call_command("import_pets", str(file), *map(str, arguments), stderr=output, no_color=True)
    assert caught.value.returncode == 1
    return [*output.getvalue().splitlines(), str(caught.value)]


def test_imported_pets_are_available_and_created_by_the_command(file: Callable[..., Path]) -> None:
    before = datetime.now(UTC)

    run("import_pets", file("name\nRex\nTom\n"))

    rex, tom = Pet.objects.order_by("pk")
    assert (rex.name, rex.tag, rex.status, rex.created_by) == ("Rex", None, "available", "command import_pets")
    assert tom.name == "Tom"
    assert before <= rex.created_at == tom.created_at <= datetime.now(UTC)
    assert inventory_counts() == {"available": 2, "pending": 0, "sold": 0}


def test_a_json_array_as_the_admin_exports_it_is_imported(file: Callable[..., Path], admin_client: Client) -> None:
    for text in ("=1", 'Rex "the\r\ndog", first', " a ", "狗"):
        create_pet(name=text, tag=text)
    before = [pet[:-1] for pet in all_pets()]
    array = admin_client.post(reverse("admin:pets_pet_export"), {"format": "json"}).content
    Pet.objects.all().delete()

    run("import_pets", file(array, "pets.json"))

    assert [pet[:-1] for pet in all_pets()] == before


def test_an_imported_pet_is_stored_like_a_created_pet(file: Callable[..., Path]) -> None:
    """SQLite compares times as text."""
    created_at = datetime(2026, 3, 1, 12, tzinfo=UTC)
    run("import_pets", file(f"name,created_at,created_by\nRex,{created_at.isoformat()},\n"))
    Pet.objects.create(name="Rex", created_at=created_at)

    with connection.cursor() as cursor:
        cursor.execute("SELECT name, tag, status, created_at, created_through FROM pets_pet")
        imported, created = cursor.fetchall()
    assert imported == created


def test_the_number_of_pets_is_printed(file: Callable[..., Path], tmp_path: Path) -> None:
    content = "name\n" + "Rex\n" * 1500

    assert run("import_pets", file(content)) == "Imported 1,500 pets.\n"
    assert run("export_pets", tmp_path / "out.csv") == "Exported 1,500 pets.\n"


def test_an_invalid_row_is_reported_with_its_line_and_nothing_is_imported(file: Callable[..., Path]) -> None:
    rows = ["Rex,dog", "Tom," + "x" * 300, "  ,cat"]

    assert errors_of_import(file("name,tag\n" + "\n".join(rows))) == [
        "line 3: tag must have at most 255 characters; got 300.",
        "line 4: name must not be blank.",
        "Nothing was imported.",
    ]
    assert not Pet.objects.exists()


def test_a_broken_file_is_reported_after_the_errors_before_it(file: Callable[..., Path]) -> None:
    errors = errors_of_import(file('name,status\nRex,gone\nTom,"sold\n'))

    assert [error.split(":")[0] for error in errors] == ["line 2", "line 3", "Nothing was imported."]
    assert not Pet.objects.exists()


def test_only_the_first_twenty_errors_are_printed(file: Callable[..., Path]) -> None:
    *errors, end = errors_of_import(file("name,tag\n" + "Rex\n" * 5000))

    assert [line.split(":")[0] for line in errors] == [f"line {number}" for number in range(2, 22)]
    assert end == "Nothing was imported. There may be more errors."


@pytest.mark.parametrize("apart", [1, 2500])
def test_a_duplicate_id_is_rejected_with_both_lines(file: Callable[..., Path], apart: int) -> None:
    pet_id = new_pet_id()
    others = [f"{new_pet_id()},Tom" for _ in range(apart - 1)]

    errors = errors_of_import(file("\n".join(["id,name", f"{pet_id},Rex", *others, f"{pet_id},Mia"])))

    assert errors == [f"line {apart + 2}: Duplicate ID: also on line 2.", "Nothing was imported."]
    assert not Pet.objects.exists()


@pytest.mark.parametrize("before", [1, 2500])
def test_existing_ids_are_rejected_and_the_rows_before_them_are_not_imported(
    file: Callable[..., Path], before: int
) -> None:
    pets = [create_pet(name="Rex") for _ in range(3)]
    rows = [f"{new_pet_id()},Tom" for _ in range(before)] + [f"{pet.pk},Mia" for pet in reversed(pets)]

    *errors, end = errors_of_import(file("\n".join(["id,name", *rows])))

    assert errors == [
        f"line {line}: A pet with the ID {pet.pk} already exists."
        for line, pet in enumerate(reversed(pets), start=before + 2)
    ]
    assert end == "Nothing was imported."
    assert [row[1] for row in all_pets()] == ["Rex"] * 3
    assert inventory_counts()["available"] == 3


@pytest.mark.parametrize("name", ["gone.csv", ".", "folder.csv"])
def test_the_error_for_an_unreadable_file_has_its_name(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder.csv").mkdir()

    (error,) = errors_of_import(tmp_path / name, "--format", "csv")

    assert error.startswith(f"{tmp_path / name}: ")
    assert error.endswith(". Nothing was imported.")


@pytest.mark.django_db(transaction=True)
def test_an_import_fails_although_the_pet_with_the_same_id_is_deleted_before_the_error(
    file: Callable[..., Path],
) -> None:
    pet = create_pet(name="Rex")
    path = file(f"id,name\n{pet.pk},Tom\n")

    with write_before('SELECT "pets_pet"."id"', Pet.objects.all().delete):
        (error,) = errors_of_import(path)

    assert error.startswith("Database error: ")
    assert error.endswith(" Nothing was imported.")
    assert not Pet.objects.exists()


def test_a_pet_that_is_imported_again_is_not_the_one_that_a_page_still_shows(file: Callable[..., Path]) -> None:
    old = create_pet(name="Rex")
    shown = dict(Pet.objects.values_list("pk", "version"))
    Pet.objects.filter(pk=old.pk).delete()

    run("import_pets", file(f"id,name\n{old.pk},Other\n"))

    assert [pet.name for pet in selection.compare(shown).changed] == ["Other"]


def entries() -> list[tuple[str, str, str, int]]:
    return [*Event.objects.order_by("pk").values_list("kind", "account_name", "record_type", "count")]


def test_imports_and_exports_by_commands_have_an_entry_each(file: Callable[..., Path], tmp_path: Path) -> None:
    run("import_pets", file("Name;Status\r\nRex;Available\r\nTom;SOLD\r\n"))
    run("export_pets", tmp_path / "out.csv")

    assert entries() == [("imported", "command", "pets.pet", 2), ("exported", "command", "pets.pet", 2)]
    assert sorted(Pet.objects.values_list("name", "status")) == [("Rex", "available"), ("Tom", "sold")]


def test_a_file_with_new_pets_is_imported_again_only_with_an_option(file: Callable[..., Path]) -> None:
    path = file('[{"name": "Rex"}]', "pets.json")
    run("import_pets", path)

    with pytest.raises(CommandError, match=r"imported before: on 20\d\d-.* UTC by command. .*Add --again"):
        run("import_pets", path)
    assert (Pet.objects.count(), len(entries())) == (1, 1)

    run("import_pets", path, "--again")
    assert (Pet.objects.count(), ImportedFile.objects.count()) == (2, 2)


def test_an_import_is_undone_if_the_audit_cannot_be_written_and_an_export_is_not(
    file: Callable[..., Path], tmp_path: Path
) -> None:
    path = file("name\nRex\n")
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE journal_event RENAME TO unavailable")

    with pytest.raises(CommandError, match=r"(?s)Database error: .*Nothing was imported"):
        run("import_pets", path)
    assert not Pet.objects.exists()
    assert "The audit cannot be written" in run("export_pets", tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_bytes().startswith(b"id,name")
