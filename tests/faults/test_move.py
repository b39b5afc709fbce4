"""`move_database` moves all data between SQLite and PostgreSQL, under load, or changes nothing."""

import os
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest

from pets.fields import new_pet_id
from tests.faults.load import Load, lost, running_load
from tests.faults.restores import NAME, move
from tests.processes import Process, inside, start
from tests.service import free_port, log_in, running_service, stopped_service
from tests.waiting import wait_until

pytestmark = pytest.mark.faults

COUNT_OF_EVENTS = "SELECT count(*) FROM journal_event"
COMPLETE = "The copy is complete. Stop the service now"


@pytest.fixture(params=["to PostgreSQL", "to SQLite"])
def direction(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str]:
    """The URLs of the old database, and of the new one: one without rows, or a file that does not exist."""
    if request.param == "to PostgreSQL":
        return request.getfixturevalue("migrated_url"), request.getfixturevalue("postgresql_url")
    return request.getfixturevalue("postgresql_url"), f"sqlite:///{tmp_path / NAME}"


@contextmanager
def moving(folder: Path, source: str, target: str, *program: str) -> Iterator[tuple[Process, Path]]:
    """Start the command, by `program` if there is one, and yield its process and the file of its output."""
    log = folder / "move.log"
    log.unlink(missing_ok=True)
    command = ("manage.py", "move_database", "--to", target)
    environment = os.environ | {"DATABASE_URL": source, "PETSERVICE_DATA_DIR": str(folder)}
    process = start(inside(*program, command=command) if program else command, environment, log, log)
    try:
        yield process, log
    finally:
        process.kill()
        process.wait()


def wait_for_the_copy(process: Process, log: Path) -> None:
    wait_until(lambda: process.poll() is not None or COMPLETE in log.read_text())
    assert process.poll() is None, log.read_text()


def test_a_service_under_load_moves_and_loses_nothing(tmp_path: Path, direction: tuple[str, str]) -> None:
    source, target = direction
    if target.startswith("postgresql"):
        with psycopg.connect(target) as server:  # so that the command creates the tables
            server.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    port = free_port()
    with running_service(tmp_path, port=port, DATABASE_URL=source) as service, ExitStack() as stack:
        key = service.create_key()
        service.create_staff("ada", "a password of ada")
        service.create_key()
        ((last_key,),) = service.execute("SELECT max(id) FROM apikeys_apikey")
        # Migrations of the new database would make it an event in the old one, if they used that.
        service.execute(
            "INSERT INTO django_admin_log (action_time, object_id, object_repr, action_flag, change_message, user_id)"
            " SELECT date_joined, '7', 'Rex', 1, '[]', id FROM auth_user"
        )
        events = service.execute(COUNT_OF_EVENTS)
        with running_load(Load(service, key), 12, retrying=4) as load:
            load.wait_for(100)
            with moving(tmp_path, source, target) as (process, log):
                wait_for_the_copy(process, log)
                created = len(load.created)
                with service.client(key) as client:
                    assert client.get("/v1/store/inventory").json()["available"] >= created
                service.process.send_signal(signal.SIGTERM)
                assert process.wait(timeout=120) == 0, log.read_text()
            service.process.wait(timeout=40)
            output = log.read_text()
            assert stopped_service(tmp_path, target).execute(COUNT_OF_EVENTS) == events
            moved = stack.enter_context(running_service(tmp_path, port=port, DATABASE_URL=target))
            load.wait_for(100)
        # After the last response, because a pet of a request in progress may be missing.
        assert lost(load) == []
        with moved.client() as client:
            log_in(client, "ada", "a password of ada")
        moved.create_key()  # with a number after the old ones
        assert moved.execute("SELECT max(id) FROM apikeys_apikey") == [(last_key + 1,)]
    assert "pets_pet" in output
    assert "equal in both databases" in output
    if source.startswith("sqlite"):
        assert not (tmp_path / NAME).exists()
        assert f"The old database is now {tmp_path / NAME}.moved" in output


def test_an_interrupted_move_changes_nothing_and_can_be_repeated(tmp_path: Path, direction: tuple[str, str]) -> None:
    source, target = direction
    # Only a SQLite target has a file that could remain. The command handles all signals but SIGKILL in the same way.
    numbers = [signal.SIGHUP] if source.startswith("sqlite") else [signal.SIGTERM, signal.SIGKILL]
    sell = "INSERT INTO pets_pet (id, name, status, created_at) VALUES (%s, 'a sale', 'sold', %s)"
    with running_service(tmp_path, DATABASE_URL=source) as service:
        key = service.create_key()
        service.execute(sell, new_pet_id(), datetime.now(UTC))
        service.execute("UPDATE pets_pet SET sold_at = NULL")  # as of sales before the database kept their times
        for number in numbers:
            with service.client(key) as client:
                assert client.post("/v1/pets", json={"name": f"before {number.name}"}).status_code == 201
            with moving(tmp_path, source, target) as (process, log):
                wait_for_the_copy(process, log)
                process.send_signal(number)
                assert process.wait(timeout=120) != 0
            if number != signal.SIGKILL:
                assert "Interrupted: nothing was moved." in log.read_text()
                assert not [path for path in tmp_path.iterdir() if path.is_dir()]
    status, output = move(tmp_path, source, target)
    assert status == 0, output
    moved = stopped_service(tmp_path, target)
    assert moved.execute("SELECT name, sold_at FROM pets_pet ORDER BY name") == [
        ("a sale", None),
        *((f"before {name}", None) for name in sorted(number.name for number in numbers)),
    ]
    moved.execute(sell, new_pet_id(), datetime.now(UTC))
    assert moved.execute("SELECT name FROM pets_pet WHERE sold_at IS NOT NULL") == [("a sale",)]


@pytest.mark.parametrize("is_lost", [False, True], ids=["interrupted", "connection lost"])
def test_nothing_ends_a_commit_and_the_loss_of_its_connection_leaves_open_whether_it_moved(
    tmp_path: Path, migrated_url: str, postgresql_url: str, is_lost: bool
) -> None:
    with psycopg.connect(postgresql_url, autocommit=True) as server:
        server.execute(
            "CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NULL; END $$;"
            "CREATE CONSTRAINT TRIGGER wait AFTER INSERT ON auth_group DEFERRABLE INITIALLY DEFERRED"
            " FOR EACH ROW EXECUTE FUNCTION wait(); SELECT pg_advisory_lock(1)"
        )
        with moving(tmp_path, migrated_url, postgresql_url) as (process, log):
            waiting = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
            wait_until(lambda: server.execute(waiting).fetchone())
            if is_lost:
                server.execute(f"SELECT pg_terminate_backend(pid) FROM ({waiting})")
            else:
                process.send_signal(signal.SIGTERM)
            server.execute("SELECT pg_advisory_unlock(1)")
            assert process.wait(timeout=120) == is_lost, log.read_text()
    said = "If it finds records in the target then, all data has moved" if is_lost else "Moved in "
    assert said in log.read_text()
    assert (tmp_path / NAME).exists() == is_lost


def test_a_second_move_is_refused_and_the_first_one_under_nohup_survives_its_terminal(
    tmp_path: Path, direction: tuple[str, str]
) -> None:
    source, target = direction
    (folder := tmp_path / "other").mkdir()
    with running_service(tmp_path, DATABASE_URL=source) as service, service.client(service.create_key()) as client:
        assert client.get("/v1/pets").status_code == 200  # a move sees the service by its connection to PostgreSQL
        with moving(tmp_path, source, target, "nohup") as (process, log):
            wait_for_the_copy(process, log)
            status, output = move(folder, source, f"sqlite:///{folder}/new.sqlite3")
            process.send_signal(signal.SIGHUP)
            service.process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=120) == 0, log.read_text()
            assert "Moved in " in log.read_text()
    assert status == 1, output
    assert "Nothing was moved" in output
    found = "Database error: database is locked, because another program writes, such as a move or an import"
    assert (found if source.startswith("sqlite") else "Another move uses the same database.") in output
    assert {path.name for path in folder.iterdir()} <= {"secret_key", "new.sqlite3.service"}


def test_a_moved_file_that_cannot_be_renamed_is_named(tmp_path: Path, migrated_url: str, postgresql_url: str) -> None:
    with closing(sqlite3.connect(tmp_path / NAME)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM pets_pet").fetchall()
        status, output = move(tmp_path, migrated_url, postgresql_url)

    assert status == 0, output
    assert f"{tmp_path}/{NAME} cannot be renamed (database is locked). Start no service on it" in output
