"""A write of another connection at a chosen moment, in tests with real transactions."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection

only_on_postgresql = pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer at a time")


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
