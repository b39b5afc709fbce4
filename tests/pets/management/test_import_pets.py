"""Imports of files by the command import_pets."""

from collections.abc import Callable
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.urls import reverse

from pets.fields import new_pet_id
from pets.models import Pet
from pets.services import create_pet
from store.services import inventory_counts
from tests.pets.management.commands import all_pets, run


def refusal(file: Path, *arguments: object) -> list[str]:
    """The lines that a refused import ends with."""
    errors = StringIO()
    with pytest.raises(CommandError) as caught:
        call_command("import_pets", str(file), *map(str, arguments), stderr=errors, no_color=True)
    assert caught.value.returncode == 1
    return [*errors.getvalue().splitlines(), str(caught.value)]


@pytest.mark.django_db
def test_imported_pets_are_new_available_and_made_by_the_command(file: Callable[..., Path]) -> None:
    before = datetime.now(UTC)

    run("import_pets", file("name\nRex\nTom\n"))

    rex, tom = Pet.objects.order_by("pk")
    assert (rex.name, rex.tag, rex.status, rex.created_by) == ("Rex", None, "available", "command import_pets")
    assert tom.name == "Tom"
    assert before <= rex.created_at == tom.created_at <= datetime.now(UTC)


@pytest.mark.django_db
@pytest.mark.parametrize(("name", "options"), [("pets.json", ()), ("pets.txt", ("--format", "jsonl"))])
def test_a_json_array_as_the_admin_exports_it_is_imported(
    file: Callable[..., Path], admin_client: Client, name: str, options: tuple[str, ...]
) -> None:
    for text in ("=1", 'Rex "the\r\ndog", first', " a ", "狗"):
        create_pet(name=text, tag=text)
    before = [pet[:-1] for pet in all_pets()]
    array = admin_client.post(reverse("admin:pets_pet_export"), {"format": "1"}).content
    Pet.objects.all().delete()

    run("import_pets", file(array, name), *options)

    assert [pet[:-1] for pet in all_pets()] == before


@pytest.mark.django_db
def test_imported_pets_are_counted(file: Callable[..., Path]) -> None:
    run("import_pets", file("name,status\nRex,sold\nTom,\n"))

    assert inventory_counts() == {"available": 1, "pending": 0, "sold": 1}


@pytest.mark.django_db
def test_an_imported_pet_is_stored_as_a_created_one_is(file: Callable[..., Path]) -> None:
    """Times above all, which SQLite compares as text."""
    created_at = datetime(2026, 3, 1, 12, tzinfo=UTC)
    run("import_pets", file(f"name,created_at,created_by\nRex,{created_at.isoformat()},\n"))
    Pet.objects.create(name="Rex", created_at=created_at)

    with connection.cursor() as cursor:
        cursor.execute("SELECT name, tag, status, created_at, created_through FROM pets_pet")
        imported, created = cursor.fetchall()
    assert imported == created


@pytest.mark.django_db
def test_the_throughput_is_told(file: Callable[..., Path], tmp_path: Path) -> None:
    content = "name\n" + "Rex\n" * 1500

    for said in (run("import_pets", file(content)), run("export_pets", tmp_path / "out.csv")):
        assert said.removeprefix("Imported").removeprefix("Exported").startswith(" 1,500 pets in ")
        assert said.endswith(" a second).\n")
        assert said.count("\n") == 1


@pytest.mark.django_db
def test_a_bad_row_is_refused_by_its_line_and_nothing_is_imported(file: Callable[..., Path]) -> None:
    rows = ["Rex,dog", "Tom," + "x" * 300, "  ,cat"]

    assert refusal(file("name,tag\n" + "\n".join(rows))) == [
        "line 3: tag must have at most 255 characters; got 300.",
        "line 4: name must not be blank.",
        "Nothing was imported.",
    ]
    assert not Pet.objects.exists()


@pytest.mark.django_db
def test_a_broken_file_is_refused_with_what_is_wrong_before_it(file: Callable[..., Path]) -> None:
    problems = refusal(file('name,status\nRex,gone\nTom,"sold\n'))

    assert [problem.split(":")[0] for problem in problems] == ["line 2", "line 3", "Nothing was imported."]
    assert not Pet.objects.exists()


@pytest.mark.django_db
def test_of_many_bad_rows_the_first_twenty_are_told(file: Callable[..., Path]) -> None:
    *told, end = refusal(file("name,tag\n" + "Rex\n" * 5000))

    assert [line.split(":")[0] for line in told] == [f"line {number}" for number in range(2, 22)]
    assert end == "Nothing was imported. There may be more to correct."


@pytest.mark.django_db
@pytest.mark.parametrize("apart", [1, 2500])
def test_an_id_that_is_in_the_file_twice_is_refused_with_both_lines(file: Callable[..., Path], apart: int) -> None:
    pet_id = new_pet_id()
    others = [f"{new_pet_id()},Tom" for _ in range(apart - 1)]

    problems = refusal(file("\n".join(["id,name", f"{pet_id},Rex", *others, f"{pet_id},Mia"])))

    assert problems == [f"line {apart + 2}: the id is on line 2 already.", "Nothing was imported."]
    assert not Pet.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize("before", [1, 2500])
def test_an_id_that_the_database_has_is_refused_when_the_rows_before_it_are_in_place(
    file: Callable[..., Path], before: int
) -> None:
    pet = create_pet(name="Rex")
    rows = [f"{new_pet_id()},Tom" for _ in range(before)]

    problems = refusal(file("\n".join(["id,name", *rows, f"{pet.pk},Mia"])))

    assert problems == [f"line {before + 2}: there is a pet with the id {pet.pk} already.", "Nothing was imported."]
    assert [row[1] for row in all_pets()] == ["Rex"]
    assert inventory_counts()["available"] == 1


@pytest.mark.django_db
def test_all_ids_that_the_database_has_are_told(file: Callable[..., Path], tmp_path: Path) -> None:
    for _ in range(3):
        create_pet(name="Rex")
    run("export_pets", tmp_path / "pets.csv")

    assert [line.split(":")[0] for line in refusal(tmp_path / "pets.csv")] == [
        "line 2",
        "line 3",
        "line 4",
        "Nothing was imported.",
    ]


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["gone.csv", ".", "folder.csv"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder.csv").mkdir()

    (problem,) = refusal(tmp_path / name, "--format", "csv")

    assert problem.startswith(f"{tmp_path / name}: ")
    assert problem.endswith(". Nothing was imported.")
