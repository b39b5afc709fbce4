"""Databases into which `import_pets` has brought pets, also such that stay in a folder from one run to the next."""

import json
import resource
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.benchmarks.databases import Database, connected, database_in, empty_database
from tests.benchmarks.processes import cpu_seconds
from tests.benchmarks.sample_records import write_csv

# The account of the pages, and events of the journal that are spread over two years.
_STAFF = """
from django.contrib.auth.models import User
from tests.benchmarks.sample_records import fill_audit
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


class Seeded(NamedTuple):
    """A database with pets, an API key, and the id of a pet in the middle."""

    database: Database
    key: str
    pet: str


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
def seeded_database(name: str, pets: int) -> Iterator[Seeded]:
    """Create a database with so many pets."""
    with empty_database(name) as database:
        yield seeded(database, pets)


def seeded(database: Database, pets: int) -> Seeded:
    """Fill an empty database with so many pets, and create an API key."""
    _fill(database, pets, events=0)
    with connected(database) as connection:
        middle = f"SELECT CAST(id AS text) FROM pets_pet ORDER BY id LIMIT 1 OFFSET {pets // 2}"
        [(pet,)] = connection.execute(middle).fetchall()
    return Seeded(database, new_key(database), pet)


def new_key(database: Database) -> str:
    """Create an API key."""
    return database.run("manage.py", "create_api_key", "Benchmark")


@contextmanager
def grown_database(name: str, pets: int, events: int, folder: Path) -> Iterator[Grown]:
    """Open the database with so many pets in a folder, or create it unless an earlier run has completed it."""
    mark = folder / "import.json"
    if not mark.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    with database_in(folder, name) as database:
        if not mark.exists():
            mark.write_text(json.dumps(_fill(database, pets, events)))
        yield Grown(pets, database, Cost(*json.loads(mark.read_text())))


def _fill(database: Database, pets: int, events: int) -> Cost:
    """Import so many pets into an empty database, add the account and the events, and return the cost of the import."""
    database.run("manage.py", "migrate", "-v0")
    file = database.folder / "pets.csv"
    write_csv(file, pets)
    with _sales_since_creation(database):
        cost = cost_of(database, lambda: database.run("manage.py", "import_pets", file))
    file.unlink()
    database.run("manage.py", "shell", "-v0", "-c", _STAFF.format(events=events))
    if database.server is not None:  # its autovacuum would do this later
        with connected(database) as connection:
            connection.execute("VACUUM ANALYZE")
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
