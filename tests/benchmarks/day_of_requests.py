"""`python -m tests.benchmarks.day_of_requests` shows what a day of ten million requests adds to a database and a log.

It sends a part of them, one kind after the other, and multiplies. It needs `wrk`.
"""

import argparse
from typing import NamedTuple

from tests.benchmarks.databases import DATABASES, Database, connected
from tests.benchmarks.filled_databases import Seeded, seeded_database
from tests.benchmarks.peers import load
from tests.benchmarks.processes import conditions
from tests.benchmarks.tables import print_header, print_row
from tests.service import running_service

PETS = 10_000
DAY = 10_000_000
# The share of each kind of request, by the scenarios of tests.benchmarks.peers.load.
SHARES = {"fetch-one-pet": 0.8, "list-100-pets": 0.05, "inventory": 0.05, "post": 0.05, "post-key": 0.05}
# What staff do, as statements that follow _PROGRAM.
STAFF = {
    "login of staff": "Client().force_login(staff)",
    "change of a pet by staff": "mark(staff, [pet], 'sold')",
    "deletion of a pet by staff": "delete(staff, pet)",
}
_PROGRAM = """
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client
from pets.models import Pet
from tests.pets.changes import delete, mark
staff = User.objects.get(username="staff")
for pet in Pet.objects.filter(status="available")[:{number}]:
    with transaction.atomic():
        {statement}
"""
_SIZES_ON_SQLITE = """
SELECT tbl_name, sum(pgsize) FROM dbstat JOIN sqlite_master USING (name) WHERE aggregate = TRUE GROUP BY tbl_name
"""
_SIZES_ON_POSTGRESQL = """
SELECT relname, pg_total_relation_size(oid) FROM pg_class
WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
"""


class Table(NamedTuple):
    """The number of rows of a table, and its bytes with all indexes."""

    rows: int
    size: int


def tables(database: Database) -> dict[str, Table]:
    """Return all tables. That of pets has the index of words too, which is tables of its own on SQLite."""
    query = _SIZES_ON_SQLITE if database.server is None else _SIZES_ON_POSTGRESQL
    found: dict[str, Table] = {}
    with connected(database) as connection:
        sizes = dict(connection.execute(query).fetchall())
        words = sum(size for name, size in sizes.items() if name.startswith("pets_search"))
        for name, size in sizes.items():
            if not name.startswith(("pets_search", "sqlite_")):
                [(rows,)] = connection.execute(f"SELECT count(*) FROM {name}").fetchall()
                found[name] = Table(rows, int(size) + (int(words) if name == "pets_pet" else 0))
    return found


def send(filled: Seeded, scenario: str, seconds: int) -> tuple[int, int]:
    """Send requests of one kind to a service for some seconds, and return their number and the bytes that it logged."""
    database = filled.database
    # As in production, where each request has a line.
    with running_service(database.folder, DATABASE_URL=database.url, PETSERVICE_LOG_FORMAT="json") as service:
        logged = service.log.stat().st_size
        target = load.Target(service.url, service.process.pid, database, filled.key)
        target.write_ids()
        seen = load.measure(target, scenario, seconds, 16)
    return seen.number, service.log.stat().st_size - logged


def act(database: Database, kind: str, number: int) -> None:
    """Let staff do something so many times."""
    program = _PROGRAM.format(number=number, statement=STAFF[kind])
    database.run("manage.py", "shell", "-v0", "-c", program)


def print_growth(kind: str, number: int, day: int, before: dict[str, Table], after: dict[str, Table]) -> None:
    """Print what requests added to each table, for each request and for all of a day."""
    for name, table in after.items():
        rows, size = table.rows - before[name].rows, table.size - before[name].size
        if abs(rows) * 100 >= number or size >= 100 * number:  # less is the free space of a page
            cells = (f"{rows / number:.2f}", f"{size / number:,.0f}")
            print_row(kind, name, *cells, f"{rows * day / number:,.0f}", f"{size * day / number / 1e6:,.1f}")


def measure(name: str, seconds: int, of_staff: int) -> None:
    """Print the table for a kind of database."""
    print_header(f"{name}: with each", "grows", "rows", "bytes", "rows a day", "MB a day")
    with seeded_database(name, PETS) as filled:
        database = filled.database
        before = tables(database)
        for scenario, share in SHARES.items():
            number, logged = send(filled, scenario, seconds)
            after = tables(database)
            print_growth(scenario, number, int(DAY * share), before, after)
            print_row(scenario, "log", 1, f"{logged / number:,.0f}", "", f"{logged / number * DAY * share / 1e6:,.1f}")
            before = after
        for kind in STAFF:
            act(database, kind, of_staff)
            after = tables(database)
            print_growth(kind, of_staff, of_staff, before, after)
            before = after


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--databases", nargs="+", choices=DATABASES, default=DATABASES)
    parser.add_argument("--seconds", type=int, default=10, help="of each kind of request")
    parser.add_argument("--of-staff", type=int, default=1000, help="logins, changes and deletions in a day")
    options = parser.parse_args()
    print(conditions("Django", "gunicorn"))
    for name in options.databases:
        measure(name, options.seconds, options.of_staff)


if __name__ == "__main__":
    main()
