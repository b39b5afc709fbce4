"""The command export_audit writes the entries that the filters choose, and is recorded."""

import csv
import os
import sys
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from petservice.journal.models import Event

pytestmark = pytest.mark.django_db

KIND = Event.Kind


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Create some entries, and return a path for the export."""
    for day, (name, kind) in enumerate([("ada", KIND.LOGIN), ("bea", KIND.LOGIN), ("bea", KIND.CHANGED)]):
        Event.objects.create(
            at=datetime(2026, 11, 21 + day, tzinfo=UTC), account_name=name, kind=kind, message=f"={day}"
        )
    return tmp_path / "audit.csv"


def run(file: Path, *options: str) -> tuple[str, list[dict[str, str]]]:
    """Run the command, and return its standard error and the rows of the file."""
    errors = StringIO()
    call_command("export_audit", str(file), *options, stderr=errors, no_color=True)
    return errors.getvalue(), [*csv.DictReader(StringIO(file.read_text("utf-8-sig")))]


@pytest.mark.parametrize(
    ("options", "messages", "words"),
    [
        ([], ["'=2", "'=1", "'=0"], "none"),
        (["--person", "bea", "--kind", "login"], ["'=1"], "person “bea”, kind login"),
        (["--from", "2026-11-22", "--to", "2026-11-22"], ["'=1"], "from 2026-11-22, to 2026-11-22"),
        (["--record-type", "pets.pet", "--record-id", "7"], [], "record pet, record ID “7”"),
    ],
)
def test_the_file_has_the_filtered_entries_and_the_audit_has_the_filter(
    file: Path, options: list[str], messages: list[str], words: str
) -> None:
    output, rows = run(file, *options)

    assert [row["message"] for row in rows] == messages
    assert output.startswith(f"Exported {len(rows)} {'entry' if len(rows) == 1 else 'entries'} in ")
    entry = Event.objects.latest("pk")
    assert (entry.kind, entry.account_name, entry.record_type) == ("exported", "command", "journal.event")
    assert (entry.count, entry.message.partition(" Run by")[0]) == (
        len(rows),
        f"Audit exported by the command export_audit. Filter: {words}.",
    )


def test_an_invalid_filter_names_its_option_and_exports_nothing(file: Path) -> None:
    with pytest.raises(CommandError, match=r"^--from: Write a day as year-month-day.* Nothing was exported\.$"):
        run(file, "--from", "yesterday")
    with pytest.raises(CommandError, match="invalid choice: 'hacked'"):
        run(file, "--kind", "hacked")

    assert not file.exists()
    assert not Event.objects.filter(kind=KIND.EXPORTED).exists()


def test_an_export_has_more_entries_than_the_database_sends_together(file: Path) -> None:
    Event.objects.bulk_create(Event(kind=KIND.LOGOUT, message=str(number)) for number in range(4001))

    _, rows = run(file, "--kind", "logout")

    assert [row["message"] for row in rows] == [str(number) for number in reversed(range(4001))]


@pytest.mark.usefixtures("file")
def test_an_export_whose_reader_leaves_is_not_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    errors = StringIO()
    with os.fdopen(writer, "w") as output:
        monkeypatch.setattr(sys, "stdout", output)
        call_command("export_audit", "-", stderr=errors)

    assert errors.getvalue() == ""
    assert not Event.objects.filter(kind=KIND.EXPORTED).exists()
