"""Databases into which `import_pets` has brought many pets, kept in a folder from one run to the next."""

import csv
import json
import resource
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import psycopg

from tests.benchmarks.databases import Database, database_in
from tests.benchmarks.processes import cpu_seconds
from tests.benchmarks.sample_pets import COLUMNS, rows

# The account of the pages, and events of the journal that are spread over two years.
_STAFF = """
from django.contrib.auth.models import User
from tests.benchmarks.sample_audit import fill_audit
User.objects.create_superuser("staff", password="a long one")
fill_audit({events})
"""
# The definition of the trigger that sets the time of a sale, the present time in it, and a time since the creation.
_SALES_ON_SQLITE = (
    "SELECT sql FROM sqlite_master WHERE name = 'pets_sold_insert'",
    "'now'",
    "julianday(created_at) + (julianday('now') - julianday(created_at)) * abs(random() % 1000000) / 1000000",
)
_SALES_ON_POSTGRESQL = (
    "SELECT pg_get_functiondef('pets_write_sold_at'::regproc)",
    "statement_timestamp()",
    "NEW.created_at + (statement_timestamp() - NEW.created_at) * random()",
)


class Cost(NamedTuple):
    """The seconds that a step took, and the CPU time of its program and of the database server."""

    seconds: float
    cpu: float
    database_cpu: float


class Grown(NamedTuple):
    """A database with so many pets, and what their import cost."""

    pets: int
    database: Database
    cost_of_import: Cost


def cost_of(database: Database, run: Callable[[], object]) -> Cost:
    """Measure a function that runs programs and waits for their end."""
    began, cpu, server = time.monotonic(), _cpu_of_ended_programs(), cpu_seconds(database.server)
    run()
    elapsed = time.monotonic() - began
    return Cost(elapsed, _cpu_of_ended_programs() - cpu, cpu_seconds(database.server) - server)


def _cpu_of_ended_programs() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@contextmanager
def connected(database: Database) -> Iterator[Any]:
    """Connect to a database by its driver, so that each statement is a transaction."""
    if database.server is None:
        with closing(sqlite3.connect(database.url.removeprefix("sqlite:///"), isolation_level=None)) as connection:
            yield connection
    else:
        with psycopg.connect(database.url, autocommit=True) as connection:
            yield connection


@contextmanager
def grown_database(name: str, pets: int, events: int, folder: Path) -> Iterator[Grown]:
    """Open the database with so many pets in a folder, or create it unless an earlier run has completed it."""
    mark = folder / "import.json"
    if not mark.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    with database_in(folder, name) as database:
        if not mark.exists():
            cost = _import(database, pets)
            database.run("manage.py", "shell", "-v0", "-c", _STAFF.format(events=events))
            if database.server is not None:  # its autovacuum would do this later
                with connected(database) as connection:
                    connection.execute("VACUUM ANALYZE")
            mark.write_text(json.dumps(cost))
        yield Grown(pets, database, Cost(*json.loads(mark.read_text())))


def _import(database: Database, pets: int) -> Cost:
    database.run("manage.py", "migrate", "-v0")
    file = database.folder / "pets.csv"
    with file.open("w", newline="") as target:
        writer = csv.writer(target)
        names = [*COLUMNS[:5], "created_by"]
        writer.writerow(names)
        for *values, _sold_at, created_by in rows(pets, datetime.now(UTC), "Rex"):
            writer.writerow([*values, created_by])
    with _sales_since_creation(database):
        cost = cost_of(database, lambda: database.run("manage.py", "import_pets", file))
    file.unlink()
    return cost


@contextmanager
def _sales_since_creation(database: Database) -> Iterator[None]:
    """Let each sold pet be sold some time after its creation, while an import would sell all of them at its start."""
    is_file = database.server is None
    query, now, then = _SALES_ON_SQLITE if is_file else _SALES_ON_POSTGRESQL
    with connected(database) as connection:

        def define(statement: str) -> None:
            if is_file:
                connection.execute("DROP TRIGGER pets_sold_insert")
            connection.execute(statement)

        [(original,)] = connection.execute(query).fetchall()
        assert now in original
        define(original.replace(now, then))
        try:
            yield
        finally:
            define(original)
