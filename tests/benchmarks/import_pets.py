"""`python -m tests.benchmarks.import_pets [ROWS [ROUNDS]]` compares import_pets with a baseline.

The baseline is one executemany (SQLite) or COPY (PostgreSQL) of the same rows from memory, in one transaction and
into the same table with its indexes and triggers. The two alternate, each with an empty table. The program prints the
medians and the peak memory of import_pets. The times do not include the start of Python.
"""

import csv
import re
import sqlite3
import statistics
import sys
import time
from contextlib import closing
from pathlib import Path

import psycopg
from uuid_utils import uuid7

from tests.benchmarks.databases import DATABASES, Database, empty_database
from tests.memory import peak_memory
from tests.service import ROOT

COLUMNS = ("id", "name", "tag", "status", "created_at", "created_by")
# The names of the same columns in the table.
TABLE_COLUMNS = ", ".join((*COLUMNS[:5], "created_through"))
Rows = list[tuple[str | None, ...]]


def rows(count: int) -> Rows:
    return [
        (
            str(uuid7()),
            f"Pet {number}",
            ("dog", "cat", None)[number % 3],
            ("available", "pending", "sold")[number % 3],
            f"2026-03-{number % 28 + 1:02} 12:00:00.123456",
            "key pets_test_12345678 Acme",
        )
        for number in range(count)
    ]


def write_csv(file: Path, pets: Rows) -> None:
    """Write a file for import_pets."""
    with file.open("w", newline="") as target:
        writer = csv.writer(target)
        writer.writerow(COLUMNS)
        writer.writerows((*pet[:4], f"{pet[4]}+00:00", pet[5]) for pet in pets)


def insert(database: Database, pets: Rows) -> None:
    """Insert the rows by the fastest means of the driver."""
    if database.server is None:
        with closing(sqlite3.connect(database.url.removeprefix("sqlite:///"))) as connection, connection:
            connection.execute("PRAGMA synchronous=FULL")
            connection.executemany(f"INSERT INTO pets_pet ({TABLE_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)", pets)
        return
    with psycopg.connect(database.url) as server, server.cursor() as cursor:
        cursor.execute("SET TIME ZONE 'UTC'")
        with cursor.copy(f"COPY pets_pet ({TABLE_COLUMNS}) FROM STDIN") as copying:
            for pet in pets:
                copying.write_row(pet)


def empty(database: Database) -> None:
    """Leave the database without pets, as after its migrations."""
    if database.server is None:
        for old in database.folder.glob("pets.sqlite3*"):
            old.unlink()
        manage(database, "migrate", "-v0")
        return
    with psycopg.connect(database.url, autocommit=True) as connection:
        connection.execute("TRUNCATE pets_pet")
        connection.execute("CHECKPOINT")


def manage(database: Database, *arguments: object) -> tuple[int, str]:
    """Run a management command, and return its peak memory in KiB and its standard error."""
    command = [sys.executable, "manage.py", *map(str, arguments)]
    return peak_memory(command, cwd=ROOT, env=database.environment())


def seconds_of(output: str) -> float:
    """Return the time in the last line that a command has written."""
    found = re.search(r" in ([0-9.]+) s", output)
    assert found, output
    return float(found[1])


def measure(database: Database, pets: Rows, rounds: int) -> str:
    """Return the columns of the table for one database."""
    file = database.folder / "pets.csv"
    write_csv(file, pets)
    manage(database, "migrate", "-v0")
    baseline_times, import_times, peaks = [], [], []
    for _ in range(rounds):
        empty(database)
        started = time.monotonic()
        insert(database, pets)
        baseline_times.append(time.monotonic() - started)
        empty(database)
        peak, output = manage(database, "import_pets", file)
        peaks.append(peak)
        import_times.append(seconds_of(output))
    baseline_time, import_time = statistics.median(baseline_times), statistics.median(import_times)
    ratio, peak_mib = baseline_time / import_time, max(peaks) / 1024
    return f"{len(pets):9,} {baseline_time:8.1f} s {import_time:9.1f} s   {ratio:.2f}  {peak_mib:7.0f} MiB"


def main(arguments: list[str]) -> None:
    count, rounds = [*map(int, arguments), *(1_000_000, 3)[len(arguments) :]]
    print("                rows   baseline import_pets  ratio  peak memory", flush=True)
    for name in DATABASES:
        with empty_database(name) as database:
            print(f"{name:10}{measure(database, rows(count), rounds)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
