"""The command import_pets with tables whose columns are not those of pets."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from petservice.configuration.time_zone import zone
from tests.pets.management.commands import all_pets, run
from tests.pets.management.test_import_pets import errors_of_import
from tests.pets.workbooks import saved, sheets

pytestmark = pytest.mark.django_db
TABLE = (
    "Unsere Tiere\n\nRufname;Art;Zustand;Aufnahme;Preis\nRex;Hund;Weg;25.11.2026 18:10;10\n;Hase;frei;;\nMia;;frei;;9\n"
)
COLUMNS = ("--columns", "Rufname=name", "art=tag", "Zustand=status", "Aufnahme=created_at")
OTHERS = ("--statuses", "weg=sold", "FREI=available", "--dates", "day.month.year", "--skip-unnamed")


def test_the_options_say_what_the_columns_statuses_and_dates_mean(file: Callable[..., Path], settings: Any) -> None:
    settings.STORE_TIME_ZONE = zone("Europe/Berlin")

    run("import_pets", file(TABLE, "pets.txt"), *COLUMNS, *OTHERS)

    (rex, mia) = sorted(pet[1:5] for pet in all_pets())[::-1]
    assert rex == ("Rex", "Hund", "sold", datetime.fromisoformat("2026-11-25T18:10+01:00"))
    assert mia[:3] == ("Mia", None, "available")


def test_the_first_visible_sheet_of_a_workbook_or_a_chosen_one_is_imported(file: Callable[..., Path]) -> None:
    book = sheets(Lists=[], Dogs=[["Name", "Price"], ["Rex", 10]], Cats=[["Name", "Price"], ["Mia", 10]])
    book["Lists"].sheet_state = "hidden"
    path = file(saved(book), "pets.xlsx")

    run("import_pets", path, "--columns", "Name=name")
    run("import_pets", path, "--sheet", "Cats", "--columns", "Name=name", "--again")

    assert [pet[1] for pet in all_pets()] == ["Rex", "Mia"]
    (error, _) = errors_of_import(path, "--sheet", "Lists")
    assert error == "The workbook has no visible sheet 'Lists'; there are 'Dogs', 'Cats'."


def test_another_encoding_is_an_option(file: Callable[..., Path]) -> None:
    path = file("name;tag\nŽofie;kočka\n".encode("cp1250"))
    assert errors_of_import(path)[0].startswith("The text is not UTF-8")

    run("import_pets", path, "--encoding", "cp1250")

    assert [pet[1:3] for pet in all_pets()] == [("Žofie", "kočka")]


@pytest.mark.parametrize(
    ("table", "options", "error"),
    [
        (TABLE, (), "line 3: the first line must name the columns"),
        (TABLE, ("--columns", "Name=name"), "line 3: there is no column 'Name', or more than one."),
        ("Art;Art\nRex;dog\n", ("--columns", "Art=name"), "line 1: there is no column 'Art', or more than one."),
        (TABLE, ("--columns", "Art=tag"), "line 3: the first line must name the columns"),
        (TABLE, ("--columns", "Rufname=name", "Art=name"), "line 3: the first line must name the columns"),
        (TABLE, COLUMNS, "line 4: created_at must be a time"),
        (TABLE, (*COLUMNS, *OTHERS[:-1]), "line 5: name is required."),
    ],
)
def test_what_the_options_leave_open_is_an_error(
    file: Callable[..., Path], table: str, options: tuple[str, ...], error: str
) -> None:
    errors = errors_of_import(file(table), *options)

    assert any(one.startswith(error) for one in errors)
    assert errors[-1].startswith("Nothing was imported.")
    assert all_pets() == []


@pytest.mark.parametrize("option", ["name", "=name", "Art=species"])
def test_an_option_that_gives_no_column_a_meaning_is_rejected(option: str) -> None:
    with pytest.raises(CommandError, match="must be a text of the file, =, and one of id, name, tag"):
        call_command("import_pets", "pets.csv", "--columns", option)
