"""The commands import_pets and export_pets with standard streams, and their memory."""

import io
import os
import sys
import tracemalloc
from pathlib import Path

import pytest
from django.core.management import call_command

from pets.models import Pet
from petservice.journal.models import Event
from tests.pets.management.commands import run
from tests.pets.workbooks import workbook

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


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    [
        pytest.param("pets.csv", marks=pytest.mark.once),
        pytest.param("pets.jsonl", marks=pytest.mark.once(on="postgresql")),
    ],
)
def test_memory_does_not_grow_with_the_number_of_pets(tmp_path: Path, name: str) -> None:
    """The smaller file has 5,000 pets, because batches and garbage grow up to about 3,000."""
    peaks = []
    for count in (5000, 10_000):
        Pet.objects.bulk_create(Pet(name=f"{number}{250 * 'z'}"[:255], tag=250 * "x") for number in range(count))
        exported = peak_memory("export_pets", tmp_path / name)
        Pet.objects.all().delete()
        peaks.append((exported, peak_memory("import_pets", tmp_path / name)))
        Pet.objects.all().delete()

    # In bytes. The additional pets of the larger file have 500 bytes each, and would take more than twice the limit.
    assert [more - few for few, more in zip(*peaks, strict=True) if more > few + 1_000_000] == [], peaks


def peak_memory(command: str, file: Path) -> int:
    """Run a command, and return the peak of the memory that Python allocates for it."""
    tracemalloc.start()
    run(command, file)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak
