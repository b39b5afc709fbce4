"""`python -m tests.benchmarks.growth` shows what a service with millions of pets costs, next to one with few.

It needs `wrk` for the stage `api`. Each row appears when it is measured. The databases with many pets stay in the
folder, so that a later run, or one that was interrupted, does not import them again. Delete the folder of a database to
import it with other indexes.
"""

import argparse
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx

from tests.benchmarks.admin_pages import CPU, compared, print_pages
from tests.benchmarks.databases import DATABASES, Database, connected, empty_database
from tests.benchmarks.filled_databases import Cost, Grown, cost_of, grown_database, new_key
from tests.benchmarks.peers.load import PATHS, Target, create_replayed_pet, measure
from tests.benchmarks.processes import conditions, cpu_seconds
from tests.benchmarks.tables import print_header, print_row
from tests.faults.servers import PROGRAMS
from tests.repository.test_upgrade import load_released
from tests.service import running_service
from tests.waiting import wait_until

# The API comes last, because its posts add pets to the few.
STAGES = ("sizes", "pages", "steps", "upgrade", "api")
MANY = {"SQLite": 5_000_000, "PostgreSQL": 10_000_000}
_SIZES_ON_SQLITE = "SELECT name, pgsize FROM dbstat WHERE aggregate = TRUE"
_SIZES_ON_POSTGRESQL = """
SELECT relname, CASE relkind WHEN 'r' THEN pg_table_size(oid) ELSE pg_relation_size(oid) END
FROM pg_class WHERE relkind IN ('r', 'i') AND relnamespace = 'public'::regnamespace
"""
# The column of the creator has this name in the database.
_RELEASED_PETS = """
from tests.benchmarks.sample_records import COLUMNS, insert, rows
insert("pets_pet", (*COLUMNS[:5], "created_through"), rows({pets}))
"""


def print_sizes(few: Grown, many: Grown) -> None:
    """Print what takes a hundredth of the database or more, without the journal, which does not grow with pets."""
    sizes, larger = _sizes(few.database), _sizes(many.database)
    print_header("table or index", f"{few.pets:,} pets, MB", f"{many.pets:,} pets, MB", "bytes per pet")
    for name, size in sorted(larger.items(), key=lambda item: -item[1]):
        if size >= larger["all"] / 100:
            print_row(name, f"{sizes[name] / 1e6:.1f}", f"{size / 1e6:,.0f}", f"{size / many.pets:.0f}")


def _sizes(database: Database) -> dict[str, int]:
    query = _SIZES_ON_SQLITE if database.server is None else _SIZES_ON_POSTGRESQL
    with connected(database) as connection:
        sizes = {name: size for name, size in connection.execute(query).fetchall() if not name.startswith("journal")}
    return sizes | {"all": sum(sizes.values())}


def steps(grown: Grown, name: str, other: str) -> Iterator[tuple[str, Cost]]:
    """Measure what an operator does with a database; the last step moves it to one of the other kind."""
    database = grown.database
    yield "import_pets", grown.cost_of_import
    yield "serve until /ready", _cost_of_start(database)
    yield "migrate, nothing to do", cost_of(database, lambda: database.run("manage.py", "migrate", "-v0"))
    with empty_database(name) as copy, empty_database(other) as target:
        backup = copy.folder / "backup"
        cost = cost_of(database, lambda: _back_up(database, backup))
        yield f"back up, {backup.stat().st_size / 1e6:,.0f} MB", cost
        yield "restore", cost_of(copy, lambda: _restore(copy, backup))
        backup.unlink()
        move = ("manage.py", "move_database", "--to", target.url)
        yield f"move_database to {other}", cost_of(copy if name == "PostgreSQL" else target, lambda: copy.run(*move))


def _cost_of_start(database: Database) -> Cost:
    began, server = time.monotonic(), cpu_seconds(database.server)
    with running_service(database.folder, DATABASE_URL=database.url) as service:
        wait_until(lambda: httpx.get(f"{service.url}/ready", trust_env=False).status_code == 200)
        elapsed = time.monotonic() - began
        return Cost(elapsed, cpu_seconds(service.process.pid), cpu_seconds(database.server) - server)


def _back_up(database: Database, file: Path) -> None:
    if database.server is None:
        database.run("manage.py", "backup_database", file)
    else:
        subprocess.run([PROGRAMS / "pg_dump", "--format=custom", f"--file={file}", database.url], check=True)


def _restore(database: Database, file: Path) -> None:
    if database.server is None:
        database.run("manage.py", "restore_database", file)
    else:
        options = ("--exit-on-error", "--no-owner", f"--dbname={database.url}")
        subprocess.run([PROGRAMS / "pg_restore", *options, file], check=True)


def print_steps(few: Grown, many: Grown, name: str, other: str) -> None:
    """Print what each step costs with few and with many pets."""
    print_header("step", "pets", "elapsed, s", "CPU, s", "CPU of PostgreSQL, s")
    for grown in (few, many):
        for step, cost in steps(grown, name, other):
            _print_cost(step, grown.pets, cost)


def _print_cost(step: str, pets: int, cost: Cost) -> None:
    print_row(step, f"{pets:,}", *(f"{seconds:,.1f}" for seconds in cost))


def print_upgrade(name: str, pets: int) -> None:
    """Print what all migrations since the last release cost."""
    with empty_database(name) as database:
        load_released(database.url)
        database.run("manage.py", "shell", "-v0", "-c", _RELEASED_PETS.format(pets=pets))
        cost = cost_of(database, lambda: database.run("manage.py", "migrate", "-v0"))
        print_header("step", "pets", "elapsed, s", "CPU, s", "CPU of PostgreSQL, s")
        _print_cost("migrate from the last release", pets, cost)


def print_operations(few: Grown, many: Grown, options: argparse.Namespace) -> None:
    """Print the mean CPU of each operation of the API, of interleaved rounds."""
    print_header("operation", "CPU few, µs", "CPU many, µs", "ratio")
    with ExitStack() as stack:
        both = [_target(grown, stack) for grown in (few, many)]
        for scenario in PATHS:
            cpu: tuple[list[CPU], list[CPU]] = ([], [])
            for round_ in range(options.rounds + 1):
                for position, target in enumerate(both):
                    seen = measure(target, scenario, options.seconds, 16)
                    if round_:
                        cpu[position].append((1000 * seen.cpu, 1000 * seen.database_cpu))
            print_row(scenario, *compared(*cpu))


def _target(grown: Grown, stack: ExitStack) -> Target:
    """Start a service on a database."""
    database = grown.database
    key = new_key(database)
    service = stack.enter_context(running_service(database.folder, DATABASE_URL=database.url))
    target = Target(service.url, service.process.pid, database, key)
    target.write_ids()
    create_replayed_pet(target)
    return target


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--folder", type=Path, required=True, help="where the databases with many pets stay")
    parser.add_argument("--databases", nargs="+", choices=DATABASES, default=DATABASES)
    parser.add_argument("--stages", nargs="+", choices=STAGES, default=STAGES)
    parser.add_argument("--few", type=int, default=10_000)
    for name, pets in MANY.items():
        parser.add_argument(f"--{name.lower()}", type=int, default=pets, metavar="PETS")
    parser.add_argument("--events", type=int, default=1_000_000, help="in the journal of the many pets")
    parser.add_argument("--upgraded", type=int, default=1_000_000, help="pets of the last release to migrate")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=2, help="for each operation of the API in each round")
    options = parser.parse_args()
    print(conditions("Django", "gunicorn", "psycopg"))
    for name, other in zip(DATABASES, reversed(DATABASES), strict=True):
        if name in options.databases:
            _print_stages(name, other, options)


def _print_stages(name: str, other: str, options: argparse.Namespace) -> None:
    number = getattr(options, name.lower())
    with (
        tempfile.TemporaryDirectory(prefix="petservice-benchmark-") as path,
        grown_database(name, options.few, options.few, Path(path, "few")) as few,
        grown_database(name, number, options.events, options.folder / f"{name}-{number}") as many,
    ):
        for stage in options.stages:
            load, _, _ = os.getloadavg()
            print(f"\n{name}, {stage}; {load:.1f} processes were ready to run in the minute before", flush=True)
            if stage == "sizes":
                print_sizes(few, many)
            elif stage == "pages":
                print_pages(few, many, options.rounds)
            elif stage == "steps":
                print_steps(few, many, name, other)
            elif stage == "upgrade":
                print_upgrade(name, options.upgraded)
            else:
                print_operations(few, many, options)


if __name__ == "__main__":
    main()
