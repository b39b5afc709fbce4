"""A backup that is made while clients write is complete, and can be restored as operations.md says."""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.documents import block
from tests.faults import restores
from tests.faults.conftest import Outcome
from tests.faults.load import Load, all_pets, running_load
from tests.faults.restores import NAME, call, damage, refusal
from tests.faults.servers import PROGRAMS, primary
from tests.service import ROOT, Service, running_service

pytestmark = pytest.mark.faults


COMMANDS = {
    "SQLite": block("operations.md", "backup-sqlite") + block("operations.md", "restore-sqlite"),
    "PostgreSQL": block("operations.md", "backup-postgresql") + block("operations.md", "restore-postgresql"),
}


def run(line: str, folder: Path, **variables: str) -> None:
    line = line.replace(".venv/bin/python manage.py", f"{sys.executable} {ROOT}/manage.py")
    environment = os.environ | {"PATH": f"{PROGRAMS}:{os.environ['PATH']}"} | variables
    subprocess.run(["bash", "-euc", line], cwd=folder, env=environment, check=True)


def lost(service: Service, key: str, expected: dict[str, str]) -> int:
    """Return how many of the expected pets, ids by name, do not exist, and fail if the inventory is wrong."""
    with service.client(key) as client:
        pets = all_pets(client)
        counts = client.get("/v1/store/inventory").json()
    assert counts == {"available": sum(len(ids) for ids in pets.values()), "pending": 0, "sold": 0}
    return sum(pet not in pets.get(name, []) for name, pet in expected.items())


# This program creates staff with groups and entries of the history.
STAFF = """
from django.contrib.auth.models import Group, User
from pets.models import Pet
from petservice.journal.models import Event
from petservice.journal.recording import Change, add_event
ada = User.objects.create_user("ada", "ada@example.com", "correct horse")
ada.groups.set(Group.objects.all())
changes = [Change(pet.pk, pet.name, {"tag": "Zoë"}, {"tag": None}) for pet in Pet.objects.all()[:5]]
add_event(None, Event.Kind.CHANGED, target=Pet, message="Changed Zoë’s tag.", changes=changes)
"""
NOT_EMPTY = {
    "apikeys_apikey",
    "auth_group",
    "auth_group_permissions",
    "auth_user",
    "auth_user_groups",
    "django_migrations",
    "journal_event",
    "journal_item",
    "pets_idempotencyrecord",
    "pets_pet",
    "store_inventorycounter",
}


def write_all_kinds(service: Service, key: str) -> None:
    """Write a row into every table whose content a backup must keep."""
    with service.client(key) as client:
        pet = {"name": "Zoë’s 🐕", "tag": 'a\\b"c\td'}
        assert client.post("/v1/pets", json=pet, headers={"Idempotency-Key": "once"}).status_code == 201
    service.manage("shell", "--verbosity", "0", "-c", STAFF)


def tables(url: str) -> dict[str, list[Any]]:
    """Return all rows of all tables, and the last values of PostgreSQL's sequences."""
    connection: Any
    if url.startswith("sqlite"):
        connection = sqlite3.connect(url.removeprefix("sqlite:///"))
        # The full-text index cannot be read itself, but its tables are among the others.
        names = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL TABLE%'"
    else:
        connection = psycopg.connect(url)
        names = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
    with closing(connection):
        found = {
            name: sorted(connection.execute(f'SELECT * FROM "{name}"').fetchall(), key=repr)
            for (name,) in connection.execute(names).fetchall()
        }
        if not url.startswith("sqlite"):
            sequences = "SELECT sequencename, last_value FROM pg_sequences ORDER BY 1"
            found["sequences"] = connection.execute(sequences).fetchall()
        return found


def assert_same(restored: dict[str, list[Any]], original: dict[str, list[Any]]) -> None:
    assert {name for name in NOT_EMPTY if not original[name]} == set()
    assert restored.keys() == original.keys()
    assert [name for name, rows in original.items() if restored[name] != rows] == []


def test_sqlite_backup_under_load_can_be_restored(
    tmp_path: Path, sqlite_folder: Path, report: Callable[[Outcome], None]
) -> None:
    back_up, *restore = COMMANDS["SQLite"].splitlines()
    old, new, later = tmp_path / "old", tmp_path / "new", tmp_path / "later"
    for folder in (old, new, later):
        folder.mkdir()
    shutil.copy(sqlite_folder / "with-key", old / NAME)
    database = f"sqlite:///{old}/petservice.sqlite3"
    with running_service(old, DATABASE_URL="") as service:
        key = service.create_key()
        with running_load(Load(service.url, key), 8) as load:
            load.wait_for(200)
            expected, pets = dict(load.created), tables(database)["pets_pet"]
            run(back_up, tmp_path, DATABASE_URL="", PETSERVICE_DATA_DIR=str(old))
            load.wait_for(50)
        assert load.saw.keys() == {"POST 201"}, "clients notice nothing"
        write_all_kinds(service, key)
    # A second backup without a service that writes, to compare all tables.
    assert call(old, "backup_database", later / "pets.backup")[0] == 0
    original = tables(database)

    for line in restore:
        run(line, tmp_path, DATABASE_URL="", PETSERVICE_DATA_DIR=str(new))
    assert call(later, "restore_database", later / "pets.backup")[0] == 0
    assert set(pets) <= set(tables(f"sqlite:///{new}/petservice.sqlite3")["pets_pet"])
    restored = tables(f"sqlite:///{later}/petservice.sqlite3")
    for tables_of_one in (restored, original):
        del tables_of_one["sqlite_sequence"]  # the restore itself adds an event, with the next number
    restored["journal_event"] = [row for row in restored["journal_event"] if "restored" not in row]
    assert_same(restored, original)
    with running_service(new, DATABASE_URL="") as service:
        report(Outcome("restored from a backup, SQLite", 1, load.summary(), lost(service, key, expected)))
    with closing(sqlite3.connect(new / "petservice.sqlite3")) as file:
        assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_postgresql_backup_under_load_can_be_restored(
    tmp_path: Path, cluster: Path, report: Callable[[Outcome], None]
) -> None:
    back_up, *restore = COMMANDS["PostgreSQL"].splitlines()
    later = tmp_path / "later"
    later.mkdir()
    with primary(cluster) as one, primary(cluster) as two, primary(cluster) as three:
        with running_service(tmp_path, DATABASE_URL=one.url) as service:
            key = service.create_key()
            with running_load(Load(service.url, key), 8) as load:
                load.wait_for(200)
                expected, pets = dict(load.created), tables(one.url)["pets_pet"]
                run(back_up, tmp_path, DATABASE_URL=one.url)
                load.wait_for(50)
            assert load.saw.keys() == {"POST 201"}, "clients notice nothing"
            write_all_kinds(service, key)
        # A second backup without a service that writes, to compare all tables.
        run(back_up, later, DATABASE_URL=one.url)
        original = tables(one.url)
        for line in restore:
            run(line, tmp_path, NEW_DATABASE_URL=two.empty_url)
            run(line, later, NEW_DATABASE_URL=three.empty_url)
        assert set(pets) <= set(tables(two.empty_url)["pets_pet"])
        assert_same(tables(three.empty_url), original)
        # The database has all migrations, so the service can start without `--migrate`.
        with running_service(tmp_path, command=("manage.py", "serve"), DATABASE_URL=two.empty_url) as service:
            report(Outcome("restored from a backup, PostgreSQL", 1, load.summary(), lost(service, key, expected)))


def test_failed_backup_replaces_no_file_and_leaves_none(tmp_path: Path) -> None:
    data, place = tmp_path / "data", tmp_path / "place"
    place.mkdir()
    precious = place / "pets.backup"
    precious.write_text("precious")

    assert "There is no database yet" in refusal(data, place / "new", "backup_database")
    data.mkdir(exist_ok=True)
    (data / "petservice.sqlite3").write_bytes(b"no database at all" * 100)
    assert "file is not a database" in refusal(data, place / "new", "backup_database")
    (data / "petservice.sqlite3").unlink()
    with closing(sqlite3.connect(data / "petservice.sqlite3")) as database:
        database.execute("CREATE TABLE pet (id)")
    assert f"{precious} exists: name a file that does not" in refusal(data, precious, "backup_database")
    assert "cannot be written" in refusal(data, tmp_path / "nowhere" / "pets.backup", "backup_database")

    assert precious.read_text() == "precious"
    assert list(place.iterdir()) == [precious]


def test_a_damaged_database_is_not_backed_up(tmp_path: Path, migrated: Path) -> None:
    shutil.copy(migrated, tmp_path / NAME)
    damage(tmp_path / NAME)
    before = {*tmp_path.iterdir()}

    output = refusal(tmp_path, tmp_path / "pets.backup", "backup_database")

    assert "The copy is damaged, and so the database may be: NULL value in song.name" in output
    assert {*tmp_path.iterdir()} - before <= {tmp_path / "secret_key"}


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
