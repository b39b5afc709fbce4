"""Functions that run at the same time on connections of their own, in tests with real transactions."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

import psycopg
import pytest
from django.db import connection

from tests.waiting import wait_until


def only_on_postgresql(test: Callable[..., None]) -> Callable[..., None]:
    """Run a test with real transactions and on PostgreSQL only, because SQLite has one writer at a time.

    The mark works in a module that runs on SQLite as well.
    """
    without_sqlite = pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer at a time")
    return without_sqlite(pytest.mark.once(on="postgresql")(pytest.mark.django_db(transaction=True)(test)))


def second_connection(**options: Any) -> psycopg.Connection:
    """Connect to the test database on PostgreSQL by the driver, without Django."""
    connection.ensure_connection()
    server = connection.connection.info
    return psycopg.connect(server.dsn, password=server.password, **options)


def on_a_connection(work: Callable[[], Any]) -> Any:
    """Call a function on this thread's own connection, and return its result."""
    try:
        return work()
    finally:
        connection.close()


@contextmanager
def write_before(part: str, write: Callable[[], object]) -> Iterator[None]:
    """Call a function on another connection just before this one runs its first statement that contains `part`.

    The statement runs when the function has ended, or when the function waits for a lock of this connection. At the
    end, an exception of the function is raised.
    """
    started: list[Future[Any]] = []

    def execute_after_write(execute: Any, sql: str, *arguments: Any) -> Any:
        if part in sql and not started:
            started.append(pool.submit(on_a_connection, partial(_with_its_session, session, write)))
            wait_until(lambda: started[0].done() or _waits_for_this_connection(session))
        return execute(sql, *arguments)

    session: Future[int] = Future()
    with ThreadPoolExecutor(1) as pool, connection.execute_wrapper(execute_after_write):
        yield
    assert started, f"No statement contains {part}"
    started[0].result()


def _with_its_session(session: Future[int], write: Callable[[], object]) -> object:
    """Tell which session of PostgreSQL this thread's connection is, and call a function."""
    connection.ensure_connection()
    session.set_result(connection.connection.info.backend_pid)
    return write()


def _waits_for_this_connection(session: Future[int]) -> bool:
    if not session.done():
        return False
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid() = ANY (pg_blocking_pids(%s))", [session.result()])
        return bool(cursor.fetchone()[0])


def without_waiting(write: Callable[[], Any]) -> Any:
    """Call a function on another connection, on which a wait for a lock is an error, and return its result."""

    def write_without_waiting() -> Any:
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = 1")  # milliseconds
        return write()

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(on_a_connection, write_without_waiting).result()
