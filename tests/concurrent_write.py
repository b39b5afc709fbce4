"""Functions that run at the same time on connections of their own, in tests with real transactions."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
from django.db import connection


def only_on_postgresql(test: Callable[..., None]) -> Callable[..., None]:
    """Run a test on PostgreSQL only, because SQLite has one writer at a time; also in a module that runs on SQLite."""
    without_sqlite = pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer at a time")
    return without_sqlite(pytest.mark.once(on="postgresql")(test))


def on_a_connection(work: Callable[[], Any]) -> Any:
    """Call a function on this thread's own connection, and return its result."""
    try:
        return work()
    finally:
        connection.close()


@contextmanager
def write_before(part: str, write: Callable[[], object]) -> Iterator[None]:
    """Call a function on another connection just before this one runs its first statement that contains `part`."""
    found: list[str] = []

    def execute_after_write(execute: Any, sql: str, *arguments: Any) -> Any:
        if part in sql and not found:
            found.append(sql)
            with ThreadPoolExecutor() as pool:
                pool.submit(on_a_connection, write).result()
        return execute(sql, *arguments)

    with connection.execute_wrapper(execute_after_write):
        yield
    assert found, f"No statement contains {part}"


def together(*works: Callable[[], Any]) -> list[Any]:
    """Run functions at the same time, each with its own connection, and return their results or exceptions."""
    start = threading.Barrier(len(works))

    def run(work: Callable[[], Any]) -> Any:
        connection.ensure_connection()
        start.wait()
        return work()

    with ThreadPoolExecutor(len(works)) as pool:
        running = [pool.submit(on_a_connection, partial(run, work)) for work in works]
    return [one.exception() or one.result() for one in running]
