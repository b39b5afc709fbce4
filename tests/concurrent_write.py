"""Functions that run at the same time on connections of their own, in tests with real transactions."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection


def only_on_postgresql(test: Callable[..., None]) -> Callable[..., None]:
    """Run a test on PostgreSQL only, because SQLite has one writer at a time; also in a module that runs on SQLite."""
    without_sqlite = pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer at a time")
    return without_sqlite(pytest.mark.once(on="postgresql")(test))


@contextmanager
def write_before(part: str, write: Callable[[], object]) -> Iterator[None]:
    """Call a function on another connection just before this one runs its first statement that contains `part`."""
    threads: list[threading.Thread] = []

    def run() -> None:
        try:
            write()
        finally:
            connection.close()

    def execute_after_write(execute: Any, sql: str, *arguments: Any) -> Any:
        if part in sql and not threads:
            threads.append(threading.Thread(target=run))
            threads[0].start()
            threads[0].join()
        return execute(sql, *arguments)

    with connection.execute_wrapper(execute_after_write):
        yield
    assert threads, f"No statement contains {part}"


def together(*works: Callable[[], Any]) -> list[Any]:
    """Run functions at the same time, each with its own connection, and return their results or exceptions."""
    results: list[Any] = [None] * len(works)
    start = threading.Barrier(len(works))

    def run(number: int) -> None:
        try:
            connection.ensure_connection()
            start.wait()
            results[number] = works[number]()
        except Exception as error:
            results[number] = error
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=[number]) for number in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results
