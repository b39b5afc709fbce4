"""`python -m tests.benchmarks.move_database [ROWS [ROUNDS]]` compares move_database with import_pets.

Each round imports the pets into an empty database of each kind, then moves them from SQLite to PostgreSQL and back.
The program prints the medians, the ratio of the move to the import into the same kind of database, and the peak memory
of the move. The times include the start of Python.
"""

import statistics
import sys
import time
from contextlib import ExitStack

from tests.benchmarks.databases import DATABASES, Database, empty_database
from tests.benchmarks.sample_records import write_csv
from tests.benchmarks.tables import print_header, print_row
from tests.memory import peak_memory
from tests.service import ROOT


def manage(database: Database, *arguments: object) -> tuple[int, float]:
    """Run a management command, and return its peak memory in KiB and the seconds that it took."""
    command, began = [sys.executable, "manage.py", *map(str, arguments)], time.monotonic()
    peak, _ = peak_memory(command, cwd=ROOT, env=database.environment())
    return peak, time.monotonic() - began


def measure(count: int, rounds: int) -> None:
    """Print a row of the table for each direction."""
    imports: dict[str, list[float]] = {kind: [] for kind in DATABASES}
    moves: dict[str, list[tuple[int, float]]] = {kind: [] for kind in DATABASES}
    for _ in range(rounds):
        with ExitStack() as stack:
            sqlite, postgresql, back, there = (
                stack.enter_context(empty_database(name)) for name in (*DATABASES, *DATABASES)
            )
            file = sqlite.folder / "pets.csv"
            write_csv(file, count)
            for kind, database in zip(DATABASES, (sqlite, postgresql), strict=True):
                database.run("manage.py", "migrate", "-v0")
                imports[kind].append(manage(database, "import_pets", file)[1])
            for kind, source, target in (("PostgreSQL", sqlite, there), ("SQLite", there, back)):
                moves[kind].append(manage(source, "move_database", "--to", target.url))
    print_header("move", "pets", "import_pets", "move_database", "ratio", "peak memory")
    for kind in reversed(DATABASES):
        peaks, times = zip(*moves[kind], strict=True)
        ratio = statistics.median(move / imported for move, imported in zip(times, imports[kind], strict=True))
        seconds = (f"{statistics.median(several):.1f} s" for several in (imports[kind], times))
        print_row(f"to {kind}", f"{count:,}", *seconds, f"{ratio:.2f}", f"{max(peaks) / 1024:.0f} MiB")


def main(arguments: list[str]) -> None:
    count, rounds = [*map(int, arguments), *(1_000_000, 3)[len(arguments) :]]
    measure(count, rounds)


if __name__ == "__main__":
    main(sys.argv[1:])
