"""Functions that calls in a greenlet pool run."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

import psycopg
import pytest
from django.db import connection

only_on_postgresql = pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite is never waited for")


def sleep(seconds: float) -> str:
    """Wait for the server, which sleeps; and end as a request does."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(%s)", [seconds])
    finally:
        connection.close_if_unusable_or_obsolete()
    return "slept"


@contextmanager
def no_writer_let_in(url: str) -> Iterator[None]:
    """While it lasts nobody writes to the pets in the database, and everybody reads."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as database:
            database.execute("BEGIN IMMEDIATE")
            yield
    else:
        with psycopg.connect(url) as database:
            database.execute("LOCK TABLE pets_pet IN EXCLUSIVE MODE")
            yield
