"""`move_database` moves all data between SQLite and PostgreSQL, under load, or changes nothing."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
import pytest

from petservice.db.sqlite.service_lock import exclude_services
from tests.faults.conftest import Outcome
from tests.faults.load import Load, running_load
from tests.faults.restores import NAME, run
from tests.faults.servers import pgbouncer, primary
from tests.faults.test_kill import check_pets
from tests.service import ROOT, Service, free_port, log_in, running_service
from tests.waiting import wait_until

pytestmark = pytest.mark.faults

COMPLETE = "The copy is complete. Stop the service now"


@pytest.fixture(params=["to PostgreSQL", "to SQLite"])
def direction(request: pytest.FixtureRequest, sqlite_url: str, postgresql_url: str) -> tuple[str, str]:
    """The URLs of the old and of the new database."""
    return (sqlite_url, postgresql_url) if request.param == "to PostgreSQL" else (postgresql_url, sqlite_url)


@contextmanager
def moving(folder: Path, source: str, target: str, *program: str) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """Start the command, by `program` if there is one, and yield its process and the file of its output."""
    log = folder / "move.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*program, sys.executable, "manage.py", "move_database", "--to", target],
            cwd=ROOT,
            env=os.environ | {"DATABASE_URL": source, "PETSERVICE_DATA_DIR": str(folder)},
            stdout=output,
            stderr=output,
            # A shell ignores SIGINT for tests that it runs in the background, and the command would inherit that.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
    try:
        yield process, log
    finally:
        process.kill()
        process.wait()


def move(folder: Path, source: str, target: str) -> tuple[int, str]:
    """Run the command to its end, and return its exit status and output."""
    with moving(folder, source, target) as (process, log):
        status = process.wait(timeout=60)
    output = log.read_text()
    assert "Traceback" not in output
    return status, output


def wait_for_the_copy(process: subprocess.Popen[bytes], log: Path) -> None:
    wait_until(lambda: process.poll() is not None or COMPLETE in log.read_text())
    assert process.poll() is None, log.read_text()


def test_a_service_under_load_moves_and_loses_nothing(
    tmp_path: Path, direction: tuple[str, str], report: Callable[[Outcome], None]
) -> None:
    source, target = direction
    port = free_port()
    with running_service(tmp_path, port=port, DATABASE_URL=source) as service:
        key = service.create_key()
        service.create_staff("ada", "a password of ada")
        service.create_key()
        ((last_key,),) = service.execute("SELECT max(id) FROM apikeys_apikey")
        service.execute("DELETE FROM apikeys_apikey WHERE id = %s", last_key)
        with running_load(Load(service.url, key), 12, retrying=4) as load:
            load.wait_for(100)
            with moving(tmp_path, source, target) as (process, log):
                wait_for_the_copy(process, log)
                created = len(load.created)
                with service.client(key) as client:
                    assert client.get("/v1/store/inventory").json()["available"] >= created
                service.process.send_signal(signal.SIGTERM)
                assert process.wait(timeout=60) == 0, log.read_text()
            service.process.wait(timeout=40)
            output = log.read_text()
            with running_service(tmp_path, port=port, DATABASE_URL=target) as moved:
                load.wait_for(100)
                load.stop()
                gone, saw = check_pets(moved, key, load, target)
                check_the_rest(moved, last_key)
    report(Outcome(f"moved from {source.partition(':')[0]} under load", 1, saw, len(gone)))
    assert "pets_pet" in output
    assert "equal in both databases" in output
    if source.startswith("sqlite"):
        assert not (tmp_path / NAME).exists()
        assert f"The old database is now {tmp_path / NAME}.moved" in output


def check_the_rest(service: Service, last_key: int) -> None:
    """Check that staff can log in, and that new records have numbers that no old one has had."""
    with service.client() as client:
        log_in(client, "ada", "a password of ada")
    service.create_key()
    assert service.execute("SELECT max(id) FROM apikeys_apikey") == [(last_key + 1,)]


def test_an_interrupted_move_changes_nothing_and_can_be_repeated(tmp_path: Path, direction: tuple[str, str]) -> None:
    source, target = direction
    with running_service(tmp_path, DATABASE_URL=source) as service:
        key = service.create_key()
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGKILL):
            with service.client(key) as client:
                assert client.post("/v1/pets", json={"name": f"before {number.name}"}).status_code == 201
            with moving(tmp_path, source, target) as (process, log):
                wait_for_the_copy(process, log)
                process.send_signal(number)
                assert process.wait(timeout=60) != 0
            if number != signal.SIGKILL:
                assert "Interrupted: nothing was moved." in log.read_text()
                assert not list(tmp_path.glob("*.moving*"))
    status, output = move(tmp_path, source, target)
    assert status == 0, output
    assert Service("", service.process, log, service.environment | {"DATABASE_URL": target}).execute(
        "SELECT name FROM pets_pet ORDER BY name"
    ) == [("before SIGHUP",), ("before SIGINT",), ("before SIGKILL",), ("before SIGTERM",)]


def test_a_move_under_nohup_continues_after_the_end_of_the_terminal(
    tmp_path: Path, source: str, postgresql_url: str
) -> None:
    with (
        running_service(tmp_path, DATABASE_URL=source) as service,
        moving(tmp_path, source, postgresql_url, "nohup") as (process, log),
    ):
        wait_for_the_copy(process, log)
        process.send_signal(signal.SIGHUP)
        service.process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0, log.read_text()
    assert "Moved in " in log.read_text()


def test_a_second_move_of_the_same_database_is_refused(tmp_path: Path, direction: tuple[str, str]) -> None:
    source, target = direction
    (folder := tmp_path / "other").mkdir()
    with running_service(tmp_path, DATABASE_URL=source) as service, service.client(service.create_key()) as client:
        assert client.get("/v1/pets").status_code == 200  # a move sees the service by its connection to PostgreSQL
        with moving(tmp_path, source, target) as (process, log):
            wait_for_the_copy(process, log)
            status, output = move(folder, source, f"sqlite:///{folder}/new.sqlite3")
            service.process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=60) == 0, log.read_text()
    assert status == 1, output
    assert "Nothing was moved" in output
    found = "locked. Another program writes, such as a move or import_pets: wait for it."
    assert (found if source.startswith("sqlite") else "Another move uses the same database.") in output
    assert {path.name for path in folder.iterdir()} <= {"move.log", "secret_key", "new.sqlite3.service"}


def test_no_command_starts_an_empty_database_in_the_place_of_a_moved_one(
    tmp_path: Path, migrated: Path, postgresql_url: str
) -> None:
    shutil.copy(migrated, tmp_path / NAME)
    assert move(tmp_path, f"sqlite:///{tmp_path}/{NAME}", postgresql_url)[0] == 0

    for line in (["create_api_key", "web"], ["serve"]):
        status, output = run(tmp_path, *line)
        assert status == 1
        assert f"the data of {tmp_path}/{NAME} has moved to another database. Set DATABASE_URL" in output
        assert "Traceback" not in output
    assert not (tmp_path / NAME).exists()


def test_a_moved_file_that_cannot_be_renamed_is_named(tmp_path: Path, source: str, postgresql_url: str) -> None:
    with closing(sqlite3.connect(tmp_path / "source.sqlite3")) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM pets_pet").fetchall()
        status, output = move(tmp_path, source, postgresql_url)

    assert status == 0, output
    assert f"{tmp_path}/source.sqlite3 cannot be renamed (database is locked). Start no service on it" in output


def test_a_connection_pooler_is_refused(tmp_path: Path, source: str) -> None:
    with primary() as server:
        for settings in ({}, {"ignore_startup_parameters": "options"}):
            with pgbouncer(server, **settings) as url:
                assert "A connection pooler" in refusal(tmp_path, source, url)
        with psycopg.connect(server.url) as database:
            assert database.execute("SELECT 1 FROM pg_tables WHERE schemaname = 'public'").fetchone() is None


def test_root_does_not_move_to_or_from_the_folder_of_another_account(
    tmp_path: Path, source: str, postgresql_url: str
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    for name, account in (("nobody's", "nobody"), ("a container's", 10_001)):
        folder = tmp_path / name
        folder.mkdir()
        shutil.copy(tmp_path / "source.sqlite3", folder)
        shutil.chown(folder, account)
        here = f"sqlite:///{folder}/source.sqlite3"
        for old, new in ((source, f"sqlite:///{folder}/new.sqlite3"), (here, postgresql_url)):
            status, output = move(tmp_path, old, new)
            assert status == 1, output
            assert f"You are root, but {folder} belongs to {account}" in output
        assert [path.name for path in folder.iterdir() if "source" not in path.name] == []


@pytest.fixture
def source(tmp_path: Path, migrated: Path) -> str:
    """The URL of a migrated SQLite database."""
    shutil.copy(migrated, tmp_path / "source.sqlite3")
    return f"sqlite:///{tmp_path}/source.sqlite3"


def refusal(folder: Path, source: str, target: str) -> str:
    status, output = move(folder, source, target)
    assert status == 1, output
    assert "Nothing was moved" in output
    assert (folder / "source.sqlite3").exists()
    return output


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("CREATE TABLE invoices (id int)", "tables of another program, such as invoices"),
        (
            "CREATE TABLE pets_upload (id int); INSERT INTO pets_upload VALUES (1)",
            "records in the table pets_upload",
        ),
    ],
    ids=["another program", "records"],
)
def test_a_server_s_database_with_tables_is_refused(
    tmp_path: Path, source: str, postgresql_url: str, statement: str, found: str
) -> None:
    with psycopg.connect(postgresql_url) as server:
        server.execute(statement)

    assert f"The target has {found}. Nothing was moved: name an empty database." in refusal(
        tmp_path, source, postgresql_url
    )


def test_an_existing_file_is_refused(tmp_path: Path, source: str) -> None:
    (tmp_path / "other").write_text("a letter")

    assert f"{tmp_path}/other exists. Nothing was moved" in refusal(tmp_path, source, f"sqlite:///{tmp_path}/other")
    assert (tmp_path / "other").read_text() == "a letter"


def test_a_target_that_another_process_fills_is_refused(tmp_path: Path, source: str) -> None:
    with exclude_services(tmp_path / "new.sqlite3"):
        output = refusal(tmp_path, source, f"sqlite:///{tmp_path}/new.sqlite3")

    assert "Another process uses the target. Nothing was moved." in output
    assert not (tmp_path / "new.sqlite3").exists()


def test_the_database_of_the_service_is_refused_as_its_own_target(tmp_path: Path, source: str) -> None:
    assert "The target is the database of the service." in refusal(tmp_path, source, source)


def test_a_malformed_target_is_refused_without_its_password(tmp_path: Path, source: str) -> None:
    status, output = move(tmp_path, source, "mysql://ada:secret@db/pets")

    assert status == 1
    assert "--to begins with 'mysql://'" in output
    assert "secret" not in output


def test_a_copy_that_differs_is_not_kept(tmp_path: Path, source: str, postgresql_url: str) -> None:
    """The new database has a trigger of its own, which changes what is copied."""
    target = Service("", None, tmp_path / "log", os.environ | {"DATABASE_URL": postgresql_url})  # type: ignore[arg-type]
    target.manage("migrate", "--verbosity", "0")
    with psycopg.connect(postgresql_url) as server:
        server.execute(
            "CREATE FUNCTION shout() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN NEW.name = upper(NEW.name); RETURN NEW; END $$"
        )
        server.execute("CREATE TRIGGER shout BEFORE INSERT ON auth_group FOR EACH ROW EXECUTE FUNCTION shout()")

    assert "The table auth_group differs after the copy. Nothing was moved." in refusal(
        tmp_path, source, postgresql_url
    )
    assert ("Pets and inventory",) in target.execute("SELECT name FROM auth_group")
