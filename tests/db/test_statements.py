"""Prepared statements, which go past psycopg's cursors: what these would have seen to."""

from datetime import UTC, datetime
from uuid import uuid4

import psycopg
import pytest
from django.db import connection, transaction
from psycopg import errors

from petservice.db.postgresql.base import Connection
from petservice.db.postgresql.statements import Rows

pytestmark = [
    pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite's driver has such statements by itself"),
    pytest.mark.django_db(transaction=True),
]


def rows(sql: str, *parameters: object) -> Rows:
    connection.ensure_connection()
    database: Connection = connection.connection
    return database.rows(sql.encode(), parameters)


def test_values_come_back_as_they_went() -> None:
    text = "O'Rex \\ $1 %s 🐕\n"
    moment = datetime(2026, 11, 23, 7, 30, 0, 123_456, tzinfo=UTC)
    pet_id = uuid4()
    sql = "SELECT $1::text, $2::bigint, $3::timestamptz, $4::uuid, $5::text, $6::boolean"

    assert rows(sql, text, 2**40, moment, pet_id, None, True) == [(text, 2**40, moment, str(pet_id), None, True)]
    assert rows(sql, "", 0, moment, pet_id, "x", False) == [("", 0, moment, str(pet_id), "x", False)]


def test_times_come_in_utc_wherever_the_server_is() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET TIME ZONE 'Asia/Kathmandu'")
    try:
        ((moment,),) = rows("SELECT $1::timestamptz", "2026-11-23 07:30Z")
    finally:
        connection.close()

    assert moment == datetime(2026, 11, 23, 7, 30, tzinfo=UTC)
    assert moment.tzinfo is UTC


def test_what_begins_a_transaction_is_undone_with_it() -> None:
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


def test_a_refused_value_harms_neither_statement_nor_connection() -> None:
    sql = "SELECT 12 / $1::int"
    assert rows(sql, 4) == [(3,)]

    with pytest.raises(errors.DivisionByZero) as caught:
        rows(sql, 0)
    assert caught.value.sqlstate == "22012"
    with pytest.raises(errors.InvalidTextRepresentation):
        rows(sql, "three")
    with pytest.raises(psycopg.DataError, match="NUL"):  # the protocol would end the text there
        rows(sql, "4\x00")

    assert rows(sql, 6) == [(2,)]


def test_a_statement_that_fails_only_as_it_is_committed_says_why() -> None:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE owner (id int PRIMARY KEY)")
        cursor.execute("CREATE TEMPORARY TABLE owned (owner int REFERENCES owner DEFERRABLE INITIALLY DEFERRED)")

    with pytest.raises(errors.ForeignKeyViolation):
        rows("INSERT INTO owned VALUES ($1)", 1)

    assert rows("SELECT owner FROM owned") == []


def test_a_connection_that_ends_as_a_statement_is_committed_is_one_that_ended() -> None:
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


def test_a_statement_that_the_server_does_not_take_is_no_other_one_s_name() -> None:
    for wrong in ("SELECT nothing", "SELEKT"):
        with pytest.raises(psycopg.ProgrammingError):
            rows(wrong)

    assert rows("SELECT 'one'") == [("one",)]
    assert rows("SELECT 'other'") == [("other",)]


def test_a_statement_whose_first_run_failed_runs_the_next_time() -> None:
    with pytest.raises(errors.InvalidTextRepresentation):
        rows("SELECT $1::uuid", "no id")

    pet_id = uuid4()
    assert rows("SELECT $1::uuid", pet_id) == [(str(pet_id),)]
