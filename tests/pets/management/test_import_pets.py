"""The command import_pets with files, and its entry in the audit."""

from collections.abc import Callable
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client

from pets.fields import new_pet_id
from pets.models import ImportedFile, Pet
from pets.services import create_pet
from petservice.journal.models import Event
from store.services import inventory_counts
from tests.backoffice.pages import messages
from tests.concurrent_write import only_on_postgresql, write_before
from tests.pets.admin.pet_pages import versions_shown
from tests.pets.admin.test_bulk_actions import act
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

    run("import_pets", file("Name;Status\r\nRex;\r\nTom;SOLD\r\n"))

    rex, tom = Pet.objects.order_by("pk")
    assert (rex.name, rex.tag, rex.status, rex.created_by) == ("Rex", None, "available", "command import_pets")
    assert (tom.name, tom.status) == ("Tom", "sold")
    assert before <= rex.created_at < tom.created_at <= datetime.now(UTC)
    assert inventory_counts() == {"available": 1, "pending": 0, "sold": 1}


def test_an_imported_pet_is_stored_like_a_created_pet(file: Callable[..., Path]) -> None:
    """SQLite compares times as text."""
    created_at = datetime(2026, 3, 1, 12, tzinfo=UTC)
    run("import_pets", file(f"name,created_at,created_by\nRex,{created_at.isoformat()},\n"))
    Pet.objects.create(name="Rex", created_at=created_at)

    with connection.cursor() as cursor:
        cursor.execute("SELECT name, tag, status, created_at, created_through FROM pets_pet")
        imported, created = cursor.fetchall()
    assert imported == created


def test_the_number_of_pets_is_printed_and_in_the_audit(file: Callable[..., Path], tmp_path: Path) -> None:
    content = "name\n" + "Rex\n" * 1500

    assert run("import_pets", file(content)) == "Imported 1,500 pets.\n"
    assert run("export_pets", tmp_path / "out.csv") == "Exported 1,500 pets.\n"
    events = [*Event.objects.order_by("pk").values_list("kind", "account_name", "record_type", "count")]
    assert events == [("imported", "command", "pets.pet", 1500), ("exported", "command", "pets.pet", 1500)]


NOTHING = "Nothing was imported."
AN_ID = "01890a5d-ac96-774b-bcce-b302099a8057"
REJECTED = {
    "a broken row after an invalid one": (
        'name,status\nRex,gone\nTom,"sold\n',
        ["line 2: status must", "line 3: the CSV is broken", NOTHING],
    ),
    "more than twenty errors": (
        "name,tag\n" + "Rex\n" * 5000,
        [*(f"line {number}: " for number in range(2, 22)), f"{NOTHING} There may be more errors."],
    ),
    "an id twice": (f"id,name\n{AN_ID},Rex\n{AN_ID},Mia", ["line 3: Duplicate ID: also on line 2.", NOTHING]),
    "an id twice, far apart": (
        f"id,name\n{AN_ID},Rex\n" + ",Tom\n" * 2499 + f"{AN_ID},Mia",
        ["line 2502: Duplicate ID: also on line 2.", NOTHING],
    ),
}


@pytest.mark.parametrize(("content", "expected"), REJECTED.values(), ids=REJECTED)
def test_a_file_with_errors_is_reported_with_their_lines_and_nothing_is_imported(
    file: Callable[..., Path], content: str, expected: list[str]
) -> None:
    for error, beginning in zip(errors_of_import(file(content)), expected, strict=True):
        assert error.startswith(beginning)
    assert not Pet.objects.exists()


@pytest.mark.parametrize("before", [1, 2500])
def test_existing_and_repeated_ids_are_named_once_in_the_order_of_their_lines_and_nothing_is_imported(
    file: Callable[..., Path], before: int
) -> None:
    pets, new = [create_pet(name="Rex") for _ in range(3)], new_pet_id()
    existing = [pet.pk for pet in reversed(pets)]
    ids = [new, *(new_pet_id() for _ in range(before)), *existing, new, existing[0]]

    errors = errors_of_import(file("\n".join(["id,name", *(f"{pk},Mia" for pk in ids)])))

    line = before + 3  # of the first existing id
    assert errors == [
        *(f"line {line + n}: A pet with the ID {pk} already exists." for n, pk in enumerate(existing)),
        f"line {line + 3}: Duplicate ID: also on line 2.",
        f"line {line + 4}: Duplicate ID: also on line {line}.",
        "Nothing was imported.",
    ]
    assert [row[1] for row in all_pets()] == ["Rex"] * 3
    assert inventory_counts()["available"] == 3


def test_the_error_for_an_unreadable_file_has_its_name(tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()

    for name in ("gone.csv", ".", "folder.csv"):
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


def test_a_pet_that_is_imported_again_is_not_the_one_that_a_page_still_shows(
    file: Callable[..., Path], admin_client: Client
) -> None:
    old = create_pet(name="Rex")
    shown = versions_shown(admin_client)
    Pet.objects.filter(pk=old.pk).delete()

    run("import_pets", file(f"id,name\n{old.pk},Other\n"))

    (message,) = messages(act(admin_client, "mark_as_sold", shown, old))
    assert message == "1 pet was not changed, because someone else changed it in the meantime: “Other”."


def test_a_file_with_new_pets_is_imported_again_only_with_an_option(file: Callable[..., Path]) -> None:
    path = file('[{"name": "Rex"}]', "pets.json")
    run("import_pets", path)

    with pytest.raises(CommandError, match=r"imported before: on 20\d\d-.* UTC by command. .*Add --again"):
        run("import_pets", path)
    assert (Pet.objects.count(), Event.objects.count()) == (1, 1)

    run("import_pets", path, "--again")
    assert (Pet.objects.count(), ImportedFile.objects.count()) == (2, 2)


@only_on_postgresql
def test_two_imports_of_a_file_at_the_same_time_import_it_once(file: Callable[..., Path]) -> None:
    path = file("name\nRex\n")

    with (
        pytest.raises(CommandError, match="Another import of this file is running"),
        write_before('INSERT INTO "pets_importedfile"', lambda: run("import_pets", path)),
    ):
        run("import_pets", path)

    assert (Pet.objects.count(), ImportedFile.objects.count()) == (1, 1)


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
