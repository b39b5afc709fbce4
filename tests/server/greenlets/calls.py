"""Functions and database locks that make calls in a greenlet pool wait."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager

import psycopg
import pytest
from django.db import connection

only_on_postgresql = pytest.mark.skipif(connection.vendor != "postgresql", reason="greenlets never wait for SQLite")


def sleep(seconds: float) -> str:
    """Let the database server sleep, and check the connection at the end as a request does."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(%s)", [seconds])
    finally:
        connection.close_if_unusable_or_obsolete()
    return "slept"


@contextmanager
def locked_against_writes(url: str) -> Iterator[None]:
    """Lock the pets in the database, so that other connections can read but not write them."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as database:
            database.execute("BEGIN IMMEDIATE")
            yield
    else:
        with psycopg.connect(url) as database:
            database.execute("LOCK TABLE pets_pet IN EXCLUSIVE MODE")
            yield
