"""The commands import_pets and export_pets with standard streams, and their memory."""

import io
import os
import sys
from pathlib import Path

import pytest
from django.core.management import call_command

from pets.models import Pet
from petservice.journal.models import Event
from tests.pets.management.commands import run
from tests.pets.workbooks import workbook
from tests.service import stopped_service

pytestmark = pytest.mark.django_db


def read_from(content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the process this standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


@pytest.mark.once(on="postgresql")
def test_pets_are_imported_from_standard_input_and_exported_to_standard_output(
    monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    read_from('{"name": "狗 \\n=1"}\n{"name": "Rex"}\n'.encode(), monkeypatch)
    assert run("import_pets", "-", "--format", "jsonl") == "Imported 2 pets.\n"
    call_command("export_pets", "-", "--format", "csv")
    exported, told = capsysbinary.readouterr()
    assert told == b"Exported 2 pets.\n"
    Pet.objects.all().delete()

    read_from(exported, monkeypatch)
    run("import_pets", "-", "--format", "csv")

    assert [*Pet.objects.order_by("pk").values_list("name", flat=True)] == ["狗 \n=1", "Rex"]
    read_from(workbook([["name"], ["Tom"]]), monkeypatch)
    assert run("import_pets", "-", "--format", "xlsx") == "Imported 1 pet.\n"


def test_an_export_whose_reader_leaves_ends_without_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    Pet.objects.bulk_create(Pet(name="Rex") for _ in range(5000))  # more than the buffers take
    reader, writer = os.pipe()
    os.close(reader)

    with os.fdopen(writer, "w") as output, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", output)
        assert run("export_pets", "-", "--format", "csv") == ""

    assert 0 < Event.objects.get().count < 5000


# In a process of its own, because the memory of all threads is counted, and other tests leave threads. The smaller
# file has 4,000 pets, because batches grow up to about 3,000.
_PEAKS = """
import tracemalloc
from django.core.management import call_command
from pets.models import Pet
for count in (4000, 6000):
    Pet.objects.bulk_create(Pet(name=f"{{number}}{{250 * 'z'}}"[:255], tag=250 * "x") for number in range(count))
    for command in ("export_pets", "import_pets"):
        tracemalloc.start()
        call_command(command, {file!r})
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        print(peak)
        Pet.objects.all().delete()
"""


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    [
        pytest.param("pets.csv", marks=pytest.mark.once),
        pytest.param("pets.jsonl", marks=pytest.mark.once(on="postgresql")),
    ],
)
def test_memory_does_not_grow_with_the_number_of_pets(tmp_path: Path, migrated_url: str, name: str) -> None:
    program = _PEAKS.format(file=str(tmp_path / name))
    peaks = stopped_service(tmp_path, migrated_url).manage("shell", "-v0", "-c", program)

    exported, imported, more_exported, more_imported = map(int, peaks.split())
    # In bytes. The additional pets of the larger file have 500 bytes each, and would take at least twice the limit.
    assert more_exported < exported + 500_000
    assert more_imported < imported + 500_000
