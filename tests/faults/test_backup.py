"""A backup that is made while clients write is whole, and is restored into an empty place as operations.md says."""

import os
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
from tests.faults.conftest import Outcome
from tests.faults.load import Storm, all_pets, storm
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
    """How many of the expected pets, ids by name, are not there; fails if the kept counts are wrong."""
    with service.client(key) as client:
        pets = all_pets(client)
        counts = client.get("/v1/store/inventory").json()
    assert counts == {"available": sum(len(ids) for ids in pets.values()), "pending": 0, "sold": 0}
    return sum(pet not in pets.get(name, []) for name, pet in expected.items())


# What there is besides pets: staff in their groups, and the history of what they did.
STAFF = """
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import Group, User
from pets.models import Pet
ada = User.objects.create_user("ada", "ada@example.com", "correct horse")
ada.groups.set(Group.objects.all())
LogEntry.objects.log_actions(ada.pk, Pet.objects.all()[:5], CHANGE, "Changed Zoë’s tag.")
"""
NOT_EMPTY = {
    "apikeys_apikey",
    "auth_group",
    "auth_group_permissions",
    "auth_user",
    "auth_user_groups",
    "django_admin_log",
    "django_migrations",
    "pets_idempotencyrecord",
    "pets_pet",
    "store_inventorycounter",
}


def write_all_kinds(service: Service, key: str) -> None:
    """Have something in every table that matters."""
    with service.client(key) as client:
        pet = {"name": "Zoë’s 🐕", "tag": 'a\\b"c\td'}
        assert client.post("/v1/pets", json=pet, headers={"Idempotency-Key": "once"}).status_code == 201
    service.manage("shell", "--verbosity", "0", "-c", STAFF)


def tables(url: str) -> dict[str, list[Any]]:
    """All rows of all tables, and where PostgreSQL's sequences are."""
    connection: Any
    if url.startswith("sqlite"):
        connection = sqlite3.connect(url.removeprefix("sqlite:///"))
        names = "SELECT name FROM sqlite_master WHERE type = 'table'"
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


def test_sqlite_backup_under_load(tmp_path: Path, tell: Callable[[Outcome], None]) -> None:
    back_up, *restore = COMMANDS["SQLite"].splitlines()
    old, new, later = tmp_path / "old", tmp_path / "new", tmp_path / "later"
    for folder in (old, new, later):
        folder.mkdir()
    database = f"sqlite:///{old}/petservice.sqlite3"
    with running_service(old, DATABASE_URL="") as service:
        key = service.create_key()
        with storm(Storm(service.url, key), 8) as account:
            account.wait_for(200)
            expected, pets = dict(account.created), tables(database)["pets_pet"]
            run(back_up, tmp_path, DATABASE_URL="", PETSERVICE_DATA_DIR=str(old))
            account.wait_for(50)
        assert account.saw.keys() == {"POST 201"}, "clients notice nothing"
        # And once more while nobody writes, to compare all there is.
        write_all_kinds(service, key)
        run(back_up, later, DATABASE_URL="", PETSERVICE_DATA_DIR=str(old))
        original = tables(database)

    for line in restore:
        run(line, tmp_path, PETSERVICE_DATA_DIR=str(new))
        run(line, later, PETSERVICE_DATA_DIR=str(later))
    assert set(pets) <= set(tables(f"sqlite:///{new}/petservice.sqlite3")["pets_pet"])
    assert_same(tables(f"sqlite:///{later}/petservice.sqlite3"), original)
    with running_service(new, DATABASE_URL="") as service:
        tell(Outcome("restored from a backup, SQLite", 1, account.summary(), lost(service, key, expected)))
    with closing(sqlite3.connect(new / "petservice.sqlite3")) as file:
        assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_postgresql_backup_under_load(tmp_path: Path, tell: Callable[[Outcome], None]) -> None:
    back_up, *restore = COMMANDS["PostgreSQL"].splitlines()
    later = tmp_path / "later"
    later.mkdir()
    with primary() as one, primary() as two, primary() as three:
        with running_service(tmp_path, DATABASE_URL=one.url) as service:
            key = service.create_key()
            with storm(Storm(service.url, key), 8) as account:
                account.wait_for(200)
                expected, pets = dict(account.created), tables(one.url)["pets_pet"]
                run(back_up, tmp_path, DATABASE_URL=one.url)
                account.wait_for(50)
            assert account.saw.keys() == {"POST 201"}, "clients notice nothing"
            # And once more while nobody writes, to compare all there is.
            write_all_kinds(service, key)
            run(back_up, later, DATABASE_URL=one.url)
            original = tables(one.url)
        for line in restore:
            run(line, tmp_path, NEW_DATABASE_URL=two.url)
            run(line, later, NEW_DATABASE_URL=three.url)
        assert set(pets) <= set(tables(two.url)["pets_pet"])
        assert_same(tables(three.url), original)
        # It lacks nothing, so nothing is migrated.
        with running_service(tmp_path, command=("manage.py", "serve"), DATABASE_URL=two.url) as service:
            tell(Outcome("restored from a backup, PostgreSQL", 1, account.summary(), lost(service, key, expected)))


def refusal(folder: Path, file: Path) -> str:
    command = [sys.executable, "manage.py", "backup_database", str(file)]
    environment = os.environ | {"DATABASE_URL": "", "PETSERVICE_DATA_DIR": str(folder)}
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert ended.returncode == 1
    return ended.stderr


def test_a_backup_that_cannot_be_made_replaces_nothing_and_leaves_nothing(tmp_path: Path) -> None:
    data, place = tmp_path / "data", tmp_path / "place"
    place.mkdir()
    precious = place / "pets.backup"
    precious.write_text("precious")

    assert "There is no database yet" in refusal(data, place / "new")
    data.mkdir(exist_ok=True)
    (data / "petservice.sqlite3").write_bytes(b"no database at all" * 100)
    assert "file is not a database" in refusal(data, place / "new")
    (data / "petservice.sqlite3").unlink()
    with closing(sqlite3.connect(data / "petservice.sqlite3")) as database:
        database.execute("CREATE TABLE pet (id)")
    assert f"{precious} exists: name a file that does not" in refusal(data, precious)
    assert "cannot be written" in refusal(data, tmp_path / "nowhere" / "pets.backup")

    assert precious.read_text() == "precious"
    assert list(place.iterdir()) == [precious]
