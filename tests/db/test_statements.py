"""Prepared statements that bypass psycopg's cursors handle values, errors and transactions as cursors do."""

from datetime import UTC, datetime
from uuid import uuid4

import psycopg
import pytest
from django.db import connection, transaction
from psycopg import errors

from petservice.db.postgresql.base import Connection
from petservice.db.postgresql.statements import Rows

pytestmark = [
    pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite's driver prepares statements itself"),
    pytest.mark.django_db(transaction=True),
]


def rows(sql: str, *parameters: object) -> Rows:
    connection.ensure_connection()
    database: Connection = connection.connection
    return database.rows(sql.encode(), parameters)


def test_values_are_returned_unchanged() -> None:
    text = "O'Rex \\ $1 %s 🐕\n"
    time = datetime(2026, 11, 23, 7, 30, 0, 123_456, tzinfo=UTC)
    pet_id = uuid4()
    sql = "SELECT $1::text, $2::bigint, $3::timestamptz, $4::uuid, $5::text, $6::boolean"

    assert rows(sql, text, 2**40, time, pet_id, None, True) == [(text, 2**40, time, str(pet_id), None, True)]
    assert rows(sql, "", 0, time, pet_id, "x", False) == [("", 0, time, str(pet_id), "x", False)]


def test_times_are_in_utc_in_any_time_zone_of_the_server() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET TIME ZONE 'Asia/Kathmandu'")
    try:
        ((time,),) = rows("SELECT $1::timestamptz", "2026-11-23 07:30Z")
    finally:
        connection.close()

    assert time == datetime(2026, 11, 23, 7, 30, tzinfo=UTC)
    assert time.tzinfo is UTC


def test_first_statement_of_a_transaction_is_rolled_back_with_it() -> None:
    insertion = "INSERT INTO note VALUES ($1)"
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE note (text text)")

    with transaction.atomic():
        rows(insertion, "undone")
        transaction.set_rollback(True)
    assert rows("SELECT text FROM note") == []

    with transaction.atomic():
        rows(insertion, "done")
    assert rows("SELECT text FROM note") == [("done",)]


def test_statement_and_connection_work_after_an_invalid_value() -> None:
    sql = "SELECT 12 / $1::int"
    assert rows(sql, 4) == [(3,)]

    with pytest.raises(errors.DivisionByZero) as caught:
        rows(sql, 0)
    assert caught.value.sqlstate == "22012"
    with pytest.raises(errors.InvalidTextRepresentation):
        rows(sql, "three")
    with pytest.raises(psycopg.DataError, match="NUL"):  # the protocol ends a string at NUL
        rows(sql, "4\x00")

    assert rows(sql, 6) == [(2,)]


def test_statement_that_fails_at_the_commit_raises_its_error() -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE owner (id int PRIMARY KEY)")
        cursor.execute("CREATE TEMPORARY TABLE owned (owner int REFERENCES owner DEFERRABLE INITIALLY DEFERRED)")

    with pytest.raises(errors.ForeignKeyViolation):
        rows("INSERT INTO owned VALUES ($1)", 1)

    assert rows("SELECT owner FROM owned") == []


def test_connection_that_ends_during_the_commit_is_an_operational_error() -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE note (text text)")
        cursor.execute(
            "CREATE FUNCTION pg_temp.leave() RETURNS trigger LANGUAGE plpgsql AS "
            "'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END'"
        )
        cursor.execute(
            "CREATE CONSTRAINT TRIGGER leave AFTER INSERT ON note DEFERRABLE INITIALLY DEFERRED "
            "FOR EACH ROW EXECUTE FUNCTION pg_temp.leave()"
        )

    with pytest.raises(psycopg.OperationalError):
        rows("INSERT INTO note VALUES ($1)", "x")

    connection.close()
    assert rows("SELECT 1") == [(1,)]


def test_rejected_statement_does_not_affect_later_ones() -> None:
    for wrong in ("SELECT nothing", "SELEKT"):
        with pytest.raises(psycopg.ProgrammingError):
            rows(wrong)

    assert rows("SELECT 'one'") == [("one",)]
    assert rows("SELECT 'other'") == [("other",)]


def test_statement_runs_after_its_first_run_failed() -> None:
    with pytest.raises(errors.InvalidTextRepresentation):
        rows("SELECT $1::uuid", "no id")

    pet_id = uuid4()
    assert rows("SELECT $1::uuid", pet_id) == [(str(pet_id),)]
