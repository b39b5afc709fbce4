"""The audit of import_pets and export_pets, and the repeated import of a file."""

from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.management import CommandError
from django.db import connection

from pets.models import ImportedFile, Pet
from petservice.journal.models import Event
from tests.pets.management.commands import run

pytestmark = pytest.mark.django_db


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
