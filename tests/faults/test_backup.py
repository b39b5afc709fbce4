"""A backup that is made while clients write is complete, and can be restored as operations.md says."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.databases import new_database
from tests.documents import block
from tests.faults import restores
from tests.faults.load import Load, lost, running_load
from tests.faults.restores import refusal
from tests.faults.servers import run_lines
from tests.repository.test_upgrade import load_released
from tests.service import running_service, stopped_service

pytestmark = pytest.mark.faults


COMMANDS = {
    "SQLite": block("operations.md", "backup-sqlite") + block("operations.md", "restore-sqlite"),
    "PostgreSQL": block("operations.md", "backup-postgresql") + block("operations.md", "restore-postgresql"),
}


def tables(folder: Path, url: str) -> dict[str, list[Any]]:
    """Return all rows of all tables, and the last values of PostgreSQL's sequences."""
    database = stopped_service(folder, url)
    if url.startswith("sqlite"):
        # The full-text index cannot be read itself, but its tables are among the others.
        names = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL TABLE%'"
    else:
        names = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
    found = {name: sorted(database.execute(f'SELECT * FROM "{name}"'), key=repr) for (name,) in database.execute(names)}
    if not url.startswith("sqlite"):
        found["sequences"] = database.execute("SELECT sequencename, last_value FROM pg_sequences ORDER BY 1")
    return found


@pytest.fixture(params=COMMANDS)
def databases(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[str]]:
    """The URLs of a database with all tables and of two empty ones, of each kind in turn."""
    if request.param == "SQLite":
        yield [request.getfixturevalue("migrated_url"), *(f"sqlite:///{tmp_path}/{name}" for name in ("new", "later"))]
        return
    server = request.getfixturevalue("postgresql_server")
    with ExitStack() as stack:
        yield [stack.enter_context(new_database(server, template=name)) for name in ("migrated", *["template1"] * 2)]


def back_up_and_restore(folder: Path, source: str, target: str) -> None:
    """Do what operations.md says, in a folder for the backup."""
    back_up, *restore = COMMANDS["SQLite" if source.startswith("sqlite") else "PostgreSQL"].splitlines()
    run_lines(back_up, folder, DATABASE_URL=source)
    for line in restore:
        run_lines(line, folder, DATABASE_URL=target, NEW_DATABASE_URL=target)


def test_a_backup_under_load_can_be_restored(tmp_path: Path, databases: list[str]) -> None:
    source, new, _ = databases
    with running_service(tmp_path, DATABASE_URL=source) as service:
        key = service.create_key()
        with running_load(Load(service, key), 8) as load:
            load.wait_for(200)
            expected = dict(load.created)
            back_up_and_restore(tmp_path, source, new)
            load.wait_for(50)
        assert load.saw.keys() == {"POST 201"}, "clients notice nothing"
    # The database has all migrations, so the service can start without `--migrate`.
    command = ("manage.py", "serve")
    with running_service(tmp_path, command=command, DATABASE_URL=new) as service:
        load.created = expected
        assert lost(load, service) == []


def test_a_backup_has_every_row_of_every_table(tmp_path: Path, databases: list[str]) -> None:
    _, source, new = databases
    load_released(source)  # with records of every kind
    stopped_service(tmp_path, source).manage("migrate", "--verbosity", "0")

    back_up_and_restore(tmp_path, source, new)

    original, restored = tables(tmp_path, source), tables(tmp_path, new)
    if source.startswith("sqlite"):
        for found in (restored, original):
            del found["sqlite_sequence"]  # the restore itself adds an event, with the next number
        restored["journal_event"] = [row for row in restored["journal_event"] if "restored" not in row]
    assert original["journal_item"]
    assert original["pets_idempotencyrecord"]
    assert restored.keys() == original.keys()
    assert [name for name, rows in original.items() if restored[name] != rows] == []


def test_failed_backup_replaces_no_file_and_leaves_none(tmp_path: Path) -> None:
    data, place = tmp_path / "data", tmp_path / "place"
    place.mkdir()
    precious = place / "pets.backup"
    precious.write_text("precious")

    assert "there is no file " in refusal(data, place / "new", "backup_database")
    data.mkdir(exist_ok=True)
    (data / "petservice.sqlite3").write_bytes(b"no database at all" * 100)
    assert "file is not a database" in refusal(data, place / "new", "backup_database")
    (data / "petservice.sqlite3").unlink()
    stopped_service(data).execute("CREATE TABLE pet (id)")
    assert f"{precious}: it exists and is not replaced: " in refusal(data, precious, "backup_database")
    assert "No such file or directory. Nothing was written to " in refusal(
        data, tmp_path / "nowhere" / "pets.backup", "backup_database"
    )

    assert precious.read_text() == "precious"
    assert list(place.iterdir()) == [precious]


@pytest.mark.parametrize(
    ("name", "tool"),
    [
        ("backup_database", 'pg_dump --format=custom --file=FILE "$DATABASE_URL"'),
        ("restore_database", "pg_restore --exit-on-error"),
    ],
)
def test_postgresql_is_left_to_its_own_tool(tmp_path: Path, name: str, tool: str) -> None:
    url = "postgres://ada@127.0.0.1:1/pets"
    status, output = restores.run(tmp_path, name, tmp_path / "pets.backup", DATABASE_URL=url)

    assert status == 1
    assert f"PostgreSQL has its own tool: {tool}" in output
    _, output = restores.run(tmp_path, name, tmp_path / "pets.backup", DATABASE_URL="mysql://ada/pets")
    assert "DATABASE_URL begins with 'mysql://'" in output
