"""`python -m tests.benchmarks.peers` compares the service with other servers that do the same work.

It prints Markdown tables for SQLite and for PostgreSQL. The service takes part three times, also with plain Django for
every request, and with metrics. All servers run at the same time, each with a copy of a database with the same pets.
The program checks their responses before it measures. In each round of a scenario one server after the other gets
requests for a moment, while the others have nothing to do, so that changes of the machine's speed affect all.

Every server looks up the API key in the database for each request, and writes a pet to the disk before it responds.
Only the service has idempotency keys; in these scenarios the peers' cells are empty, and the ratios are those to a
plain post. The peers count all pets for the inventory, and the service keeps the counts.

The program needs `wrk`. The bare callable and Django REST framework use the packages of the service.

`--before REVISION` adds the service at an earlier git revision, and tables of the ratios to it. It uses the packages
that are installed here, so that a difference comes from the service's own code.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from tests.benchmarks.databases import DATABASES, Database, copy_of, empty_database
from tests.benchmarks.peers import tables
from tests.benchmarks.peers.load import IDEMPOTENT, PATHS, Target, create_replayed_pet, measure
from tests.benchmarks.peers.responses import wrong_responses
from tests.benchmarks.peers.servers import (
    BASELINE,
    SERVERS,
    Access,
    Server,
    earlier_service,
    fill,
    running,
    settings,
)
from tests.benchmarks.processes import conditions, memory
from tests.service import ROOT


class Comparison:
    """A comparison of all servers on one kind of database, which is filled once for each version of the service."""

    def __init__(self, name: str, servers: Sequence[Server], stack: ExitStack, options: argparse.Namespace) -> None:
        self._options = options
        self._stack = stack
        filled: dict[Path, tuple[Database, Access]] = {}
        for folder in {_service_of(server) for server in servers}:
            database = stack.enter_context(empty_database(name))
            filled[folder] = database, fill(folder, database, options.pets)
        self.settings = settings(database)
        self.targets = {server: self._start(server, *filled[_service_of(server)]) for server in servers}
        names = [server.name for server in servers]
        self.results = tables.Results(options.scenarios, {name: {} for name in names}, {})

    def _start(self, server: Server, filled: Database, access: Access) -> Target:
        """Start a server with a copy of a filled database, and check its responses."""
        database = self._stack.enter_context(copy_of(filled))
        base_url, pid = self._stack.enter_context(running(server, database))
        if wrong := wrong_responses(base_url, access, filled, idempotent=server.is_service):
            raise RuntimeError("\n".join([f"{server.name} gives wrong responses:", *wrong]))
        target = Target(base_url, pid, database, access.key)
        target.write_ids()
        if server.is_service:
            create_replayed_pet(target)
        return target

    def run(self, scenario: str) -> None:
        """Measure a scenario in all rounds."""
        targets = [one for one in self.targets.items() if one[0].is_service or scenario not in IDEMPOTENT]
        for server, target in targets:
            measure(target, scenario, 1, self._options.connections)  # warms up
            self.results.runs[server.name][scenario] = []
        for _ in range(self._options.rounds):
            # Alternate the order, so that no server always runs before the same other server.
            targets.reverse()
            for server, target in targets:
                measured = measure(target, scenario, self._options.seconds, self._options.connections)
                self.results.runs[server.name][scenario].append(measured)


def _service_of(server: Server) -> Path:
    """Return the folder of the service that fills the database of a server."""
    return server.folder if server.is_service else ROOT


def caption(name: str, settings: str, options: argparse.Namespace) -> str:
    """Describe the machine, the versions and how the figures were measured."""
    machine = conditions("Django", "djangorestframework", "gunicorn", "orjson", "psycopg")
    return (
        f"### {name}\n\n"
        f"{machine}. Service at {options.revision}. "
        f"{settings}. {options.pets:,} pets; {options.rounds} interleaved rounds of {options.seconds} s "
        f"after 1 s of warm-up; wrk on the same machine with {options.connections} connections. Medians of the rounds; "
        "in brackets the standard error of the mean. Ratios are those of runs in the same round."
    )


def arguments() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [server.name for server in SERVERS]
    parser.add_argument("--databases", nargs="+", choices=DATABASES, default=DATABASES)
    parser.add_argument("--servers", nargs="+", choices=names, default=names)
    parser.add_argument("--scenarios", nargs="+", choices=PATHS, default=list(PATHS))
    parser.add_argument("--before", action="append", default=[], metavar="REVISION", help="may be repeated")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--pets", type=int, default=10_000)
    return parser.parse_args()


def compare(name: str, servers: Sequence[Server], options: argparse.Namespace) -> None:
    """Run all rounds on one database, and print the tables."""
    with ExitStack() as stack:
        comparison = Comparison(name, servers, stack, options)
        for scenario in options.scenarios:
            print(f"{name}: {scenario}", file=sys.stderr, flush=True)
            comparison.run(scenario)
        for server, target in comparison.targets.items():
            comparison.results.memory[server.name] = memory(target.pid)
        print(caption(name, comparison.settings, options))
        names = [server.name for server in servers]
        bases = [BASELINE if BASELINE in names else names[0], *options.before]
        tables.print_tables(comparison.results, has_server=name == "PostgreSQL", bases=bases)


def main() -> None:
    options = arguments()
    options.scenarios = [scenario for scenario in PATHS if scenario in options.scenarios]
    describe = ["git", "-C", ROOT, "describe", "--always", "--dirty"]
    options.revision = subprocess.check_output(describe, text=True).strip()
    with tempfile.TemporaryDirectory(prefix="petservice-benchmark-") as folder:
        servers = [server for server in SERVERS if server.name in options.servers]
        servers += [
            earlier_service(revision, Path(folder, str(number))) for number, revision in enumerate(options.before)
        ]
        for name in options.databases:
            compare(name, servers, options)


if __name__ == "__main__":
    main()
