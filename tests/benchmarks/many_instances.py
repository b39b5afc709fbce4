"""`python -m tests.benchmarks.many_instances` lets many instances share one PostgreSQL server, all on this machine.

It needs `wrk`. For each number of instances it prints what they cost the server, and it fails if a pet was lost.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from uuid import uuid4

import httpx
import psycopg

from tests.benchmarks.databases import Database
from tests.benchmarks.filled_databases import Seeded, seeded
from tests.benchmarks.peers import load
from tests.benchmarks.processes import cpu_seconds
from tests.benchmarks.tables import print_header, print_row
from tests.benchmarks.wrk import Wrk
from tests.faults.servers import new_server
from tests.service import Service, running_service

PETS = 10_000
CONNECTIONS = 32  # of clients in all, so that each number of instances has the same load
# Each request has a key of its own, so a part of them also deletes expired records.
SCENARIO = "post-key"
COLUMNS = (
    "instances",
    "connections",
    "posts/s",
    "CPU of PostgreSQL per post, ms",
    "p99, ms",
    "counter rows",
    "deadlocks",
)


@contextmanager
def instances(number: int, filled: Seeded) -> Iterator[list[Service]]:
    """Run so many instances with one worker each."""
    with ExitStack() as stack, ThreadPoolExecutor(4) as starts:

        def start() -> Service:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            return stack.enter_context(running_service(folder, DATABASE_URL=filled.database.url, WEB_CONCURRENCY="1"))

        started = [starts.submit(start) for _ in range(number)]
        yield [service.result() for service in started]


def measure(number: int, filled: Seeded, seconds: int) -> None:
    """Print the row of the table for so many instances."""
    headers, server = [f"X-API-Key: {filled.key}"], filled.database.server
    with instances(number, filled) as services, psycopg.connect(filled.database.url, autocommit=True) as connection:

        def ask(statement: str) -> int:
            row = connection.execute(statement).fetchone()
            assert row is not None
            return int(row[0])

        for service in services:  # also opens the connections of Django
            client = {"headers": {"X-API-Key": filled.key}, "timeout": 60}
            for path in ("/v1/pets", "/v1/pets?limit=1&after=x", "/v1/store/inventory", "/admin/login/", "/ready"):
                httpx.get(service.url + path, **client)
        before, cpu, began = ask("SELECT count(*) FROM pets_pet"), cpu_seconds(server), time.monotonic()
        each = max(1, CONNECTIONS // number)
        options = {"folder": filled.database.folder, "connections": each, "seconds": seconds}
        loads = [
            Wrk(service.url + load.PATHS[SCENARIO], headers, load.SCRIPT, SCENARIO, "", str(uuid4()), **options)
            for service in services[:CONNECTIONS]
        ]
        time.sleep(seconds / 2)
        connections = ask("SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'petservice%'")
        seen = [running.responses() for running in loads]
        answered, took = sum(one.number for one in seen), time.monotonic() - began
        created = ask("SELECT count(*) FROM pets_pet") - before
        assert not any(one.failed for one in seen), "not all responses are 2xx"
        # wrk does not count the responses that come after its end.
        assert answered <= created <= answered + CONNECTIONS, f"{answered} acknowledged, {created} in the database"
        counted = ask("SELECT sum(count) FROM store_inventorycounter")
        assert counted == ask("SELECT count(*) FROM pets_pet"), "the inventory is wrong"
        print_row(
            number,
            connections,
            f"{answered / took:,.0f}",
            f"{(cpu_seconds(server) - cpu) / answered * 1000:.2f}",
            f"{max(one.p99 for one in seen):.0f}",
            ask("SELECT count(*) FROM store_inventorycounter"),
            ask("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"),
        )


@contextmanager
def database() -> Iterator[Seeded]:
    """Create a database on a server that allows enough connections."""
    with tempfile.TemporaryDirectory() as path, new_server() as server:
        server.run("initdb --username=postgres --auth=trust --encoding=UTF8 --no-sync")
        server.start(max_connections="800")
        pid = int(Path(server.folder, "postmaster.pid").read_text().split()[0])
        yield seeded(Database(Path(path), server.empty_url, pid), PETS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--instances", type=int, nargs="+", default=[1, 10, 50])
    parser.add_argument("--seconds", type=int, default=10)
    arguments = parser.parse_args()
    print_header(*COLUMNS)
    for number in arguments.instances:
        with database() as filled:
            measure(number, filled, arguments.seconds)


if __name__ == "__main__":
    main()
