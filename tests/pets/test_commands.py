"""import_pets and export_pets, at work on files, pipes and terminals."""

import csv
import json
import os
import pty
import resource
import signal
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest_django import DjangoDbBlocker

from pets.fields import OPTIONAL_TEXTS, new_pet_id
from pets.files.rows import COLUMNS
from pets.models import Pet
from pets.services import create_pet
from petservice.api.validators import NOT_BLANK
from store.services import inventory_counts
from tests.databases import migrated_database_url
from tests.memory import peak_memory
from tests.service import ROOT, Service

NAMES = ("pets.csv", "pets.jsonl")
TEXTS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0") | st.sampled_from("'=+-@\t\r\n\",;\ufeff"),
    min_size=1,
    max_size=255,
).filter(lambda text: NOT_BLANK.search(text))
PETS = st.builds(
    Pet,
    id=st.uuids().map(str),
    name=TEXTS,
    status=st.sampled_from(Pet.Status.values),
    created_at=st.datetimes(timezones=st.just(UTC)),
    created_by=st.none() | TEXTS,
    **dict.fromkeys(OPTIONAL_TEXTS, st.none() | TEXTS),
)


def run(command: str, *arguments: object) -> str:
    """What a command writes to standard error; it must not write to standard output."""
    output, errors = StringIO(), StringIO()
    call_command(command, *map(str, arguments), stdout=output, stderr=errors, no_color=True)
    assert not output.getvalue()
    return errors.getvalue()


def refusal(file: Path, *arguments: object) -> list[str]:
    """The lines that a refused import ends with."""
    errors = StringIO()
    with pytest.raises(CommandError) as caught:
        call_command("import_pets", str(file), *map(str, arguments), stderr=errors, no_color=True)
    assert caught.value.returncode == 1
    return [*errors.getvalue().splitlines(), str(caught.value)]


def all_pets() -> list[tuple[Any, ...]]:
    return list(Pet.objects.order_by("pk").values_list(*COLUMNS))


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., Path]:
    """Makes a file of pets."""

    def make(content: str | bytes, name: str = "pets.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return make


# In the test's own process.


@pytest.mark.django_db
@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(pets=st.lists(PETS, max_size=5, unique_by=lambda pet: pet.id))
def test_export_then_import_gives_the_same_pets(tmp_path: Path, name: str, pets: list[Pet]) -> None:
    Pet.objects.all().delete()
    Pet.objects.bulk_create(pets)
    before = all_pets()

    run("export_pets", tmp_path / name)
    Pet.objects.all().delete()
    run("import_pets", tmp_path / name)

    assert all_pets() == before


@pytest.mark.django_db
def test_imported_pets_are_new_available_and_made_by_the_command(file: Callable[..., Path]) -> None:
    before = datetime.now(UTC)

    run("import_pets", file("name\nRex\nTom\n"))

    rex, tom = Pet.objects.order_by("pk")
    assert (rex.name, rex.tag, rex.status, rex.created_by) == ("Rex", None, "available", "command import_pets")
    assert tom.name == "Tom"
    assert before <= rex.created_at == tom.created_at <= datetime.now(UTC)


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
def test_the_oldest_pet_is_exported_first(tmp_path: Path) -> None:
    for name in ("Rex", "Tom", "Mia"):
        create_pet(name=name)

    run("export_pets", tmp_path / "pets.json")

    lines = (tmp_path / "pets.json").read_text().splitlines()
    assert [json.loads(line)["name"] for line in lines] == ["Rex", "Tom", "Mia"]


@pytest.mark.django_db
def test_a_bad_row_is_refused_by_its_line_and_nothing_is_imported(file: Callable[..., Path]) -> None:
    rows = ["Rex,dog", "Tom," + "x" * 300, "  ,cat"]

    assert refusal(file("name,tag\n" + "\n".join(rows))) == [
        "line 3: tag must have at most 255 characters; got 300.",
        "line 4: name must have at least one character that is not white space.",
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


@pytest.mark.django_db
@pytest.mark.parametrize("command", ["import_pets", "export_pets"])
@pytest.mark.parametrize("name", ["-", "pets", "pets.txt"])
def test_a_name_that_tells_no_format_is_refused(command: str, name: str) -> None:
    with pytest.raises(CommandError, match="may be CSV or JSON lines: add --format csv or --format jsonl"):
        call_command(command, name)


@pytest.mark.django_db
def test_the_format_can_be_chosen(file: Callable[..., Path], tmp_path: Path) -> None:
    run("import_pets", file('{"name": "Rex"}', "pets.txt"), "--format", "jsonl")
    run("export_pets", tmp_path / "pets.json", "--format", "csv")

    assert (tmp_path / "pets.json").read_text().startswith("id,name,tag")


@pytest.mark.django_db
def test_an_export_replaces_the_file_that_is_there_and_leaves_no_other(file: Callable[..., Path]) -> None:
    path = file("x" * 10_000)

    run("export_pets", path)

    assert path.read_bytes() == (",".join(COLUMNS) + "\r\n").encode()
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.django_db
def test_an_export_follows_a_link_to_the_file_that_it_replaces(file: Callable[..., Path], tmp_path: Path) -> None:
    link = tmp_path / "link.csv"
    link.symlink_to(file("old"))

    run("export_pets", link)

    assert link.is_symlink()
    assert link.read_bytes().startswith(b"id,")


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["/dev/null", "{folder}", "{folder}/gone/pets.csv"])
def test_an_export_to_what_is_no_file_is_refused_and_leaves_it_there(tmp_path: Path, name: str) -> None:
    name = name.format(folder=tmp_path)

    with pytest.raises(CommandError, match=name):
        call_command("export_pets", name, "--format", "csv")

    assert not Path("/dev/null").is_file()
    assert not list(tmp_path.iterdir())


# As processes of their own.


class Shell(Service):
    """Runs management commands on a database of their own."""

    def start(self, *arguments: object, **options: Any) -> subprocess.Popen[bytes]:
        command = [sys.executable, "manage.py", *map(str, arguments)]
        return subprocess.Popen(command, cwd=ROOT, env=self.environment, **options)

    def run(self, *arguments: object, **options: Any) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "manage.py", *map(str, arguments)]
        return subprocess.run(command, cwd=ROOT, env=self.environment, capture_output=True, **options)

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
    """On a database without pets."""
    database.execute("DELETE FROM pets_pet")
    return database


@pytest.mark.once
def test_pets_go_through_pipes(shell: Shell) -> None:
    content = b'{"name": "\xe7\x8b\x97 \\n=1"}\n{"name": "Rex"}\n'
    imported = shell.run("import_pets", "-", "--format", "jsonl", input=content)
    assert imported.returncode == 0
    assert imported.stdout == b""
    assert imported.stderr.startswith(b"Imported 2 pets in ")
    assert imported.stderr.count(b"\n") == 1

    exported = shell.run("export_pets", "-", "--format", "csv")
    assert exported.stderr.startswith(b"Exported 2 pets in ")
    shell.execute("DELETE FROM pets_pet")
    shell.run("import_pets", "-", "--format", "csv", input=exported.stdout, check=True)

    assert shell.names() == ["狗 \n=1", "Rex"]


@pytest.mark.once
def test_a_bad_row_in_a_pipe_is_refused_with_status_1(shell: Shell) -> None:
    refused = shell.run("import_pets", "-", "--format", "csv", input=b"name\nRex\n \n")

    assert refused.returncode == 1
    assert refused.stderr.splitlines() == [
        b"line 3: name must have at least one character that is not white space.",
        b"CommandError: Nothing was imported.",
    ]
    assert shell.names() == []


def many_pets(count: int) -> bytes:
    return b"".join(b'{"name": "Pet %d", "tag": "dog"}\n' % number for number in range(count))


@pytest.fixture
def filled(shell: Shell, django_db_blocker: DjangoDbBlocker) -> Shell:
    """On a database with 5,000 pets."""
    with django_db_blocker.unblock(), shell.models():
        Pet.objects.bulk_create(Pet(name=f"Pet {number}", tag="dog") for number in range(5000))
    return shell


def test_a_reader_who_has_enough_ends_an_export_quietly(filled: Shell) -> None:
    process = filled.start("export_pets", "-", "--format", "csv", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith(b"id,name")
        process.stdout.close()

        assert process.stderr.read() == b""
    assert process.returncode == 0


@pytest.mark.once
def test_an_export_that_breaks_leaves_the_old_file_and_no_half_one(filled: Shell, tmp_path: Path) -> None:
    path = tmp_path / "pets.csv"
    path.write_text("old")

    filled.environment.pop("COVERAGE_PROCESS_CONFIG", None)  # its file would be too large as well
    broken = filled.run(
        "export_pets", path, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
    )

    assert broken.returncode == 1
    assert broken.stderr == b"CommandError: File too large. Nothing was exported.\n"
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


class Terminal:
    """What a command writes to standard error when that is a terminal."""

    def __init__(self) -> None:
        self.seen = b""
        self._master, self.slave = pty.openpty()
        termios.tcsetwinsize(self._master, (25, 80))

    def read(self) -> bytes:
        """What has come since; nothing once the command has ended."""
        try:
            part = os.read(self._master, 1024)
        except OSError:
            part = b""
        self.seen += part
        return part

    def started(self) -> None:
        os.close(self.slave)

    def close(self) -> None:
        os.close(self._master)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    terminal = Terminal()
    yield terminal
    terminal.close()


@pytest.mark.once
def test_progress_is_shown_on_a_terminal(shell: Shell, terminal: Terminal, tmp_path: Path) -> None:
    path = tmp_path / "pets.jsonl"
    path.write_bytes(many_pets(2000))

    with shell.start("import_pets", path, stderr=terminal.slave) as process:
        terminal.started()
        while terminal.read():
            pass

    assert process.returncode == 0
    assert b"\rChecking: " in terminal.seen
    assert b"\rImporting: " in terminal.seen
    assert b"Imported 2,000 pets in " in terminal.seen


def test_ctrl_c_in_the_middle_leaves_nothing(shell: Shell, terminal: Terminal, tmp_path: Path) -> None:
    path = tmp_path / "pets.jsonl"
    path.write_bytes(many_pets(20_000))

    def heed() -> None:
        """Programs in the background are started so that they do not."""
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    with shell.start("import_pets", path, stderr=terminal.slave, preexec_fn=heed) as process:
        terminal.started()
        while b"\rImporting: " not in terminal.seen:
            assert terminal.read()
        process.send_signal(signal.SIGINT)
        while terminal.read():
            pass

    assert process.returncode == 130
    assert b"CommandError: Interrupted: nothing was imported." in terminal.seen
    assert shell.names() == []


def peak(shell: Shell, *arguments: object) -> int:
    """Of a management command, in KiB."""
    command = [sys.executable, "manage.py", *map(str, arguments)]
    return peak_memory(command, cwd=ROOT, env=shell.environment)[0]


@pytest.mark.long
def test_memory_does_not_grow_with_the_number_of_pets(shell: Shell, tmp_path: Path) -> None:
    peaks: dict[str, list[int]] = {"csv": [], "jsonl": [], "export": []}
    for count in (8_000, 40_000):
        shell.execute("DELETE FROM pets_pet")
        pets = [{"id": new_pet_id(), "name": f"Pet {number}{100 * 'x'}"} for number in range(count)]
        with (tmp_path / "pets.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, ("id", "name"))
            writer.writeheader()
            writer.writerows(pets[: count // 2])
        (tmp_path / "pets.jsonl").write_text("".join(json.dumps(pet) + "\n" for pet in pets[count // 2 :]))
        peaks["csv"].append(peak(shell, "import_pets", tmp_path / "pets.csv"))
        peaks["jsonl"].append(peak(shell, "import_pets", tmp_path / "pets.jsonl"))
        peaks["export"].append(peak(shell, "export_pets", tmp_path / "out.csv"))

    # In KiB. The rows of the larger files would take at least twice as much.
    assert {what: many - few for what, (few, many) in peaks.items() if many - few > 4096} == {}
