"""The commands import_pets and export_pets as separate processes: pipes, terminals, signals and memory."""

import json
import os
import pty
import signal
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from pytest_django import DjangoDbBlocker

from pets.fields import new_pet_id
from pets.models import Pet
from tests.databases import migrated_database_url
from tests.memory import peak_memory
from tests.pets.workbooks import workbook
from tests.service import ROOT, Service


def command(*arguments: object) -> list[str]:
    return [sys.executable, "manage.py", *map(str, arguments)]


class Shell(Service):
    """A runner of management commands with a database that no other test uses."""

    def start(self, *arguments: object, **options: Any) -> subprocess.Popen[bytes]:
        return subprocess.Popen(command(*arguments), cwd=ROOT, env=self.environment, **options)

    def run(self, *arguments: object, **options: Any) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(command(*arguments), cwd=ROOT, env=self.environment, capture_output=True, **options)

    def peak(self, *arguments: object) -> int:
        """Return the peak memory of a management command in KiB."""
        return peak_memory(command(*arguments), cwd=ROOT, env=self.environment)[0]

    def names(self) -> list[str]:
        return [name for (name,) in self.execute("SELECT name FROM pets_pet ORDER BY id")]


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    folder = tmp_path_factory.mktemp("commands")
    with migrated_database_url(folder) as url:
        environment = os.environ | {"DATABASE_URL": url, "PETSERVICE_DATA_DIR": str(folder)}
        yield Shell("", None, folder / "log", environment)


@pytest.fixture
def shell(database: Shell) -> Shell:
    """Return a runner whose database has no pets."""
    database.execute("DELETE FROM pets_pet")
    return database


@pytest.mark.once
@pytest.mark.long
def test_pets_are_imported_and_exported_through_pipes(shell: Shell) -> None:
    content = b'{"name": "\xe7\x8b\x97 \\n=1"}\n{"name": "Rex"}\n'
    imported = shell.run("import_pets", "-", "--format", "jsonl", input=content)
    assert imported.returncode == 0
    assert imported.stdout == b""
    assert imported.stderr.startswith(b"Imported 2 pets.")
    assert imported.stderr.count(b"\n") == 1

    exported = shell.run("export_pets", "-", "--format", "csv")
    assert exported.stderr.startswith(b"Exported 2 pets.")
    shell.execute("DELETE FROM pets_pet")
    shell.run("import_pets", "-", "--format", "csv", input=exported.stdout, check=True)

    assert shell.names() == ["狗 \n=1", "Rex"]
    content = workbook([["name"], *(["Rex"] for _ in range(20_000))])
    assert shell.run("import_pets", "-", "--format", "xlsx", input=content).stderr.startswith(b"Imported 20,000 pets.")


@pytest.mark.once(on="postgresql")
@pytest.mark.long
def test_an_export_ends_quietly_when_the_reader_closes_the_pipe(
    shell: Shell, django_db_blocker: DjangoDbBlocker
) -> None:
    with django_db_blocker.unblock(), shell.models():  # so many that the export is longer than 100 KB
        Pet.objects.bulk_create(Pet(name=f"Pet {number}", tag="dog") for number in range(2000))
    process = shell.start("export_pets", "-", "--format", "csv", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith(b"id,name")
        process.stdout.close()

        assert process.stderr.read() == b""
    assert process.returncode == 0


def seen(terminal: int) -> bytes:
    """Return what a program has written to a terminal since the last call, or nothing once the program has ended."""
    try:
        return os.read(terminal, 1024)
    except OSError:
        return b""


@pytest.mark.once(on="postgresql")
@pytest.mark.long
def test_ctrl_c_during_an_import_imports_nothing(shell: Shell, tmp_path: Path) -> None:
    path, terminal, shown = tmp_path / "pets.jsonl", pty.openpty(), b""
    termios.tcsetwinsize(terminal[0], (25, 80))
    path.write_bytes(b'{"name": "Rex"}\n' * 100_000)  # so many that the signal arrives before the end

    def accept_interrupts() -> None:
        """Reset the handler, because shells start background programs so that they ignore SIGINT."""
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    with shell.start("import_pets", path, stderr=terminal[1], preexec_fn=accept_interrupts) as process:
        os.close(terminal[1])
        while b"\rImporting: " not in shown:
            part = seen(terminal[0])
            assert part, shown
            shown += part
        process.send_signal(signal.SIGINT)
        while part := seen(terminal[0]):
            shown += part
    os.close(terminal[0])

    assert process.returncode == 130
    assert b"\rChecking: " in shown
    assert b"CommandError: Interrupted: nothing was imported." in shown
    assert shell.names() == []


def many_long_pets(count: int) -> list[dict[str, str]]:
    """Return pets with long texts, because a row takes as much time with short ones."""
    texts = {"tag": 250 * "x", "created_by": 250 * "y"}
    return [{"id": new_pet_id(), "name": f"Pet {number}{250 * 'z'}"[:255], **texts} for number in range(count)]


@pytest.mark.long
def test_memory_does_not_grow_with_the_number_of_pets(shell: Shell, tmp_path: Path) -> None:
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
        shell.execute("DELETE FROM pets_pet")
        imported[operation] = shell.peak("import_pets", tmp_path / name)
        if operation in ("few", "csv"):
            exported[operation] = shell.peak("export_pets", tmp_path / "out.csv")

    # In KiB. The additional rows of the larger files have 800 bytes each, and would take at least 1.5 times the limit.
    for peaks in (imported, exported):
        assert {operation: peak - peaks["few"] for operation, peak in peaks.items() if peak > peaks["few"] + 4096} == {}
