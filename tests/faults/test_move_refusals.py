"""`move_database` refuses targets and folders that it must not use, and moves nothing then."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from petservice.db.sqlite.base import exclude_services
from tests.faults.restores import NAME, move

pytestmark = pytest.mark.faults

Refusal = Callable[[str], str]


@pytest.fixture
def refusal(tmp_path: Path, migrated_url: str) -> Refusal:
    """Return a function that moves the database to a URL, and returns the message that nothing was moved."""

    def refusal(target: str) -> str:
        status, output = move(tmp_path, migrated_url, target)
        assert status == 1, output
        assert "Nothing was moved" in output
        assert (tmp_path / NAME).exists()
        return output

    return refusal


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("CREATE TABLE invoices (id int)", "tables of another program, such as invoices"),
        ("CREATE TABLE pets_upload AS SELECT 1", "records in the table pets_upload"),
    ],
    ids=["another program", "records"],
)
def test_a_server_s_database_with_tables_is_refused(
    empty_postgresql_url: str, refusal: Refusal, statement: str, found: str
) -> None:
    with psycopg.connect(empty_postgresql_url) as server:
        server.execute(statement)

    assert f"The target has {found}. Nothing was moved: name an empty database." in refusal(empty_postgresql_url)


def test_what_can_be_no_target_is_refused(tmp_path: Path, migrated_url: str, refusal: Refusal) -> None:
    (tmp_path / "other").write_text("a letter")
    assert f"{tmp_path}/other: it exists and is not replaced: " in refusal(f"sqlite:///{tmp_path}/other")
    assert (tmp_path / "other").read_text() == "a letter"

    with exclude_services(tmp_path / "new.sqlite3"):
        output = refusal(f"sqlite:///{tmp_path}/new.sqlite3")
    assert "Another process uses the target. Nothing was moved." in output
    assert not (tmp_path / "new.sqlite3").exists()

    assert "The target is the database of the service." in refusal(migrated_url)

    status, output = move(tmp_path, migrated_url, "mysql://ada:secret@db/pets")
    assert status == 1
    assert "--to begins with 'mysql://', but only SQLite and PostgreSQL are supported: write for example" in output


def test_a_copy_that_differs_is_not_kept(refusal: Refusal, postgresql_url: str) -> None:
    """The new database has a trigger of its own, which changes what is copied."""
    with psycopg.connect(postgresql_url) as server:
        server.execute(
            "CREATE FUNCTION shout() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN NEW.name = upper(NEW.name); RETURN NEW; END $$"
        )
        server.execute("CREATE TRIGGER shout BEFORE INSERT ON auth_group FOR EACH ROW EXECUTE FUNCTION shout()")

    assert "The table auth_group differs after the copy. Nothing was moved." in refusal(postgresql_url)
    with psycopg.connect(postgresql_url) as server:
        assert ("Pets and inventory",) in server.execute("SELECT name FROM auth_group").fetchall()


@pytest.mark.parametrize(
    ("pet_id", "created_at", "reason"),
    [
        ("Rex", "2026-01-01 00:00:00", "'Rex' is not the id of a pet."),
        ("019b76da-a800-7000-8000-000000000000", "2026-13-01 00:00:00", "month must be in 1..12"),
    ],
    ids=["no id", "no time"],
)
def test_a_value_that_another_program_has_written_is_named(
    tmp_path: Path, refusal: Refusal, postgresql_url: str, pet_id: str, created_at: str, reason: str
) -> None:
    with closing(sqlite3.connect(tmp_path / NAME)) as database, database:
        values = pet_id, created_at
        database.execute("INSERT INTO pets_pet (id, created_at, name, status) VALUES (?, ?, 'Rex', 'sold')", values)

    output = refusal(postgresql_url)

    assert "a value in the table pets_pet that it cannot move: " in output
    assert reason in output
