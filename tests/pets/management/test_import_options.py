"""Options of the commands: what columns, statuses and dates mean, the sheet, the encoding and the format."""

from collections.abc import Callable
from datetime import datetime
from itertools import product
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pytest
from django.core.management import CommandError, call_command

from petservice.configuration.time_zone import zone
from tests.pets.management.commands import all_pets, errors_of_import, run
from tests.pets.workbooks import saved, sheets

pytestmark = pytest.mark.django_db


TABLE = (
    "Unsere Tiere\n\nRufname;Art;Zustand;Übernahme;€\nRex;Hund;Zurück;25.11.2026 18:10;10\n;Hase;frei;;\nMia;;frei;;9\n"
)
MEANINGS = ("--columns", "Rufname=name", "art=tag", "Zustand=status", "Übernahme=created_at")
OTHERS = ("--statuses", "zurück=sold", "FREI=available", "--dates", "day.month.year", "--skip-unnamed")


def test_the_options_say_what_the_columns_statuses_and_dates_mean(file: Callable[..., Path], settings: Any) -> None:
    settings.STORE_TIME_ZONE = zone("Europe/Berlin")

    run("import_pets", file(normalize("NFD", TABLE), "pets.txt"), *MEANINGS, *OTHERS)

    (rex, mia) = sorted(pet[1:5] for pet in all_pets())[::-1]
    assert rex == ("Rex", "Hund", "sold", datetime.fromisoformat("2026-11-25T18:10+01:00"))
    assert mia[:3] == ("Mia", None, "available")


def test_the_sheet_of_a_workbook_and_the_encoding_of_a_text_are_options(file: Callable[..., Path]) -> None:
    book = saved(sheets(Dogs=[["name"], ["Rex"]], Cats=[["name"], ["Mia"]]))

    run("import_pets", file(book, "pets.xlsx"), "--sheet", "cats")
    run("import_pets", file("name\nŽofie\n".encode("cp1250")), "--encoding", "cp1250")

    assert [pet[1] for pet in all_pets()] == ["Mia", "Žofie"]


JSON, TEXT = '{"name": "Rex"}', "name\nRex\n"
FOR_TABLES = "JSON takes no --columns, --statuses, --dates, --skip-unnamed, --sheet or --encoding."
OF_ONE_KIND = "Only a workbook takes --sheet, and only a text takes --encoding."


@pytest.mark.parametrize(
    ("content", "name", "options", "error"),
    [
        (TABLE, "pets.csv", (), "line 3: this line must name the columns"),
        (TABLE, "pets.csv", ("--columns", "Name=name"), "line 3: there is no column 'Name', or more than one."),
        ("Art;Art\nRex;dog\n", "pets.csv", ("--columns", "Art=name"), "line 1: there is no column 'Art', or more than"),
        (TABLE, "pets.csv", ("--columns", "Art=tag"), "line 3: this line must name the columns"),
        (TABLE, "pets.csv", ("--columns", "Rufname=name", "Art=name"), "line 3: this line must name the columns"),
        (TABLE, "pets.csv", MEANINGS, "line 4: created_at must be a time"),
        (TABLE, "pets.csv", (*MEANINGS, *OTHERS[:-1]), "line 5: name is required."),
        *((JSON, "pets.json", given, FOR_TABLES) for given in (MEANINGS, OTHERS[:3], OTHERS[3:5], OTHERS[5:])),
        (TEXT, "pets.csv", ("--sheet", "Pets"), OF_ONE_KIND),
        (TEXT, "pets.xlsx", ("--encoding", "cp1252"), OF_ONE_KIND),
    ],
)
def test_options_that_leave_something_open_or_do_not_fit_the_file_import_nothing(
    file: Callable[..., Path], content: str, name: str, options: tuple[str, ...], error: str
) -> None:
    errors = errors_of_import(file(content, name), *options)

    assert any(one.startswith(error) for one in errors)
    assert all_pets() == []


@pytest.mark.parametrize("option", ["name", "=name", "Art=species"])
def test_an_option_that_gives_no_column_a_meaning_is_rejected(option: str) -> None:
    with pytest.raises(CommandError, match="must be a text of the file, =, and one of id, name, tag"):
        call_command("import_pets", "pets.csv", "--columns", option)


@pytest.mark.once
def test_a_file_name_without_a_known_extension_needs_a_format(file: Callable[..., Path], tmp_path: Path) -> None:
    for command, name in product(("import_pets", "export_pets"), ("-", "pets", "pets.pdf")):
        with pytest.raises(CommandError, match=r"unknown: add --format csv or --format jsonl( or --format xlsx)?\."):
            call_command(command, name)

    run("import_pets", file('{"name": "Rex"}', "pets.txt"), "--format", "jsonl")
    run("export_pets", tmp_path / "pets.json", "--format", "csv")
    assert (tmp_path / "pets.json").read_text().startswith("id,name,tag")
