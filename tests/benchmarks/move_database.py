"""`python -m tests.benchmarks.move_database [ROWS [ROUNDS]]` compares move_database with import_pets.

Each round imports the pets into an empty database of each kind, then moves them from SQLite to PostgreSQL and back.
The program prints the medians, the ratio of the move to the import into the same kind of database, and the peak memory
of the move. The times do not include the start of Python.
"""

import statistics
import sys
from contextlib import ExitStack

from tests.benchmarks.databases import DATABASES, empty_database
from tests.benchmarks.import_pets import manage, rows, seconds_of, write_csv


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
            write_csv(file, rows(count))
            for kind, database in zip(DATABASES, (sqlite, postgresql), strict=True):
                manage(database, "migrate", "-v0")
                imports[kind].append(seconds_of(manage(database, "import_pets", file)[1]))
            for kind, source, target in (("PostgreSQL", sqlite, there), ("SQLite", there, back)):
                peak, output = manage(source, "move_database", "--to", target.url)
                moves[kind].append(seconds_of(output))
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
