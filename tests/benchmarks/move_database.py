"""`python -m tests.benchmarks.move_database [ROWS [ROUNDS]]` compares move_database with import_pets.

Each round imports the pets into an empty database of each kind, then moves them from SQLite to PostgreSQL and back.
The program prints the medians, the ratio of the move to the import into the same kind of database, and the peak memory
of the move. The times include the start of Python.
"""

import csv
import statistics
import sys
import time
from contextlib import ExitStack
from pathlib import Path

from uuid_utils import uuid7

from tests.benchmarks.databases import DATABASES, Database, empty_database
from tests.memory import peak_memory
from tests.service import ROOT


def write_pets(file: Path, count: int) -> None:
    """Write a CSV file for import_pets."""
    with file.open("w", newline="") as target:
        writer = csv.writer(target)
        writer.writerow(("id", "name", "tag", "status", "created_at", "created_by"))
        for number in range(count):
            tag, status = ("dog", "cat", None)[number % 3], ("available", "pending", "sold")[number % 3]
            day = f"2026-03-{number % 28 + 1:02} 12:00:00.123456+00:00"
            writer.writerow((str(uuid7()), f"Pet {number}", tag, status, day, "key pets_test_12345678 Acme"))


def manage(database: Database, *arguments: object) -> tuple[int, float]:
    """Run a management command, and return its peak memory in KiB and the seconds that it took."""
    command, began = [sys.executable, "manage.py", *map(str, arguments)], time.monotonic()
    peak, _ = peak_memory(command, cwd=ROOT, env=database.environment())
    return peak, time.monotonic() - began


def measure(count: int, rounds: int) -> list[str]:
    """Return a row of the table for each direction."""
    imports: dict[str, list[float]] = {kind: [] for kind in DATABASES}
    moves: dict[str, list[float]] = {kind: [] for kind in DATABASES}
    peaks: dict[str, list[int]] = {kind: [] for kind in DATABASES}
    for _ in range(rounds):
        with ExitStack() as stack:
            sqlite, postgresql, back, there = (
                stack.enter_context(empty_database(name)) for name in (*DATABASES, *DATABASES)
            )
            file = sqlite.folder / "pets.csv"
            write_pets(file, count)
            for kind, database in zip(DATABASES, (sqlite, postgresql), strict=True):
                database.run("manage.py", "migrate", "-v0")
                imports[kind].append(manage(database, "import_pets", file)[1])
            for kind, source, target in (("PostgreSQL", sqlite, there), ("SQLite", there, back)):
                peak, seconds = manage(source, "move_database", "--to", target.url)
                moves[kind].append(seconds)
                peaks[kind].append(peak)
    return [_row(kind, count, imports[kind], moves[kind], max(peaks[kind])) for kind in reversed(DATABASES)]


def _row(kind: str, count: int, imports: list[float], moves: list[float], peak: int) -> str:
    ratio = statistics.median(move / imported for move, imported in zip(moves, imports, strict=True))
    import_time, move_time = statistics.median(imports), statistics.median(moves)
    return f"| to {kind} | {count:,} | {import_time:.1f} s | {move_time:.1f} s | {ratio:.2f} | {peak / 1024:.0f} MiB |"


def main(arguments: list[str]) -> None:
    count, rounds = [*map(int, arguments), *(1_000_000, 3)[len(arguments) :]]
    print("| move | pets | import_pets | move_database | ratio | peak memory |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |", flush=True)
    for row in measure(count, rounds):
        print(row, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
