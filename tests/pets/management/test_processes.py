"""The commands import_pets and export_pets as separate processes: pipes and memory."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection

from pets.fields import new_pet_id
from tests.pets.workbooks import workbook
from tests.service import ROOT, Service

# A process inherits the peak of the process that started it, so a small process starts the measured one.
_MEASURE = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def command(*arguments: object) -> list[str]:
    return [sys.executable, "manage.py", *map(str, arguments)]


@pytest.fixture
def database(migrated_url: str, tmp_path: Path) -> Service:
    environment = os.environ | {"DATABASE_URL": migrated_url, "PETSERVICE_DATA_DIR": str(tmp_path)}
    return Service("", None, tmp_path / "log", environment)


@pytest.mark.once(on="postgresql")
@pytest.mark.long
def test_pets_are_imported_and_exported_through_pipes_also_if_the_reader_leaves(database: Service) -> None:
    def run(line: str, content: bytes = b"") -> tuple[bytes, bytes]:
        """Run a line of a shell that succeeds, and return its standard output and standard error."""
        bash = ["bash", "-o", "pipefail", "-c", line.format(shlex.join(command()))]
        environment = database.environment
        ended = subprocess.run(bash, cwd=ROOT, env=environment, input=content, capture_output=True, check=True)
        return ended.stdout, ended.stderr

    pets = '{"name": "狗 \\n=1"}\n{"name": "Rex"}\n'.encode()
    assert run("{} import_pets - --format jsonl", pets) == (b"", b"Imported 2 pets.\n")
    exported, told = run("{} export_pets - --format csv")
    assert told == b"Exported 2 pets.\n"
    database.execute("DELETE FROM pets_pet")
    run("{} import_pets - --format csv", exported)
    assert database.execute("SELECT name FROM pets_pet ORDER BY id") == [("狗 \n=1",), ("Rex",)]

    many = workbook([["name"], *(["Rex"] for _ in range(20_000))])  # so many that the export is longer than a pipe
    assert run("{} import_pets - --format xlsx", many) == (b"", b"Imported 20,000 pets.\n")
    assert run("{} export_pets - --format csv | (read; read)") == (b"", b"")  # the header and a pet
    ((count,),) = database.execute("SELECT count FROM journal_event ORDER BY id DESC LIMIT 1")
    assert 0 < count < 20_000


def many_long_pets(count: int) -> list[dict[str, str]]:
    """Return pets with long texts, because a row takes as much time with short ones."""
    texts = {"tag": 250 * "x", "created_by": 250 * "y"}
    return [{"id": new_pet_id(), "name": f"Pet {number}{250 * 'z'}"[:255], **texts} for number in range(count)]


def peak_memory(database: Service, *arguments: object) -> int:
    """Run a command that must succeed, and return its peak memory in KiB."""
    measure = [sys.executable, "-c", _MEASURE, *command(*arguments)]
    ended = subprocess.run(measure, cwd=ROOT, env=database.environment, capture_output=True, check=True)
    return int(ended.stdout)


@pytest.mark.long
def test_memory_does_not_grow_with_the_number_of_pets(database: Service, tmp_path: Path) -> None:
    """A reader of a format does not depend on the database, so only the runs on SQLite read all formats.

    The smaller file has 5,000 pets, because caches and garbage grow up to about 3,000.
    """
    few, many = many_long_pets(5_000), many_long_pets(12_500)
    for name, pets in (("few.csv", few), ("many.csv", many)):
        lines = [",".join(columns) for columns in (pets[0], *(pet.values() for pet in pets))]
        (tmp_path / name).write_text("\n".join(lines))
    imports = {"few": "few.csv", "csv": "many.csv"}
    if connection.vendor == "sqlite":
        (tmp_path / "many.jsonl").write_text("".join(json.dumps(pet) + "\n" for pet in many))
        imports |= {"jsonl": "many.jsonl"}
    imported, exported = {}, {}
    for operation, name in imports.items():
        database.execute("DELETE FROM pets_pet")
        imported[operation] = peak_memory(database, "import_pets", tmp_path / name)
        if operation in ("few", "csv"):
            exported[operation] = peak_memory(database, "export_pets", tmp_path / "out.csv")

    # In KiB. The additional rows of the larger files have 800 bytes each, and would take at least 1.5 times the limit.
    for peaks in (imported, exported):
        assert {operation: peak - peaks["few"] for operation, peak in peaks.items() if peak > peaks["few"] + 4096} == {}
