"""`python -m tests.benchmarks.strangers` measures what clients without a key cost, and how they affect others.

It needs `wrk` and prints these tables:

- costs: The cost of one request or connection of each kind, sent in sequence on one connection. The columns are the
  CPU time of all processes of the service, and the memory that stays allocated. The last two are whether threads other
  than the event loop's work, and the time.
- apart: The p99 latency of a client of the API, without and with 200 hostile clients of each kind, which send requests
  without pause. One process serves both, or the pages have a process and a processor of their own, which the hostile
  clients use, too. The row of the valid key shows what as many ordinary clients do.

The service has one worker, so that no other worker serves requests in its place. Its processes are bound to one
processor, and all clients to another one. The measured client pauses between requests, and runs as soon as it has
something to do (SCHED_FIFO, which needs root).
"""

import argparse
import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.benchmarks.databases import DATABASES
from tests.benchmarks.filled_databases import seeded_database
from tests.benchmarks.processes import conditions
from tests.benchmarks.strangers.apart import apart
from tests.benchmarks.strangers.costs import costs
from tests.benchmarks.strangers.kinds import kinds
from tests.service import Service, make_certificate, running_service

TABLES = ["costs", "apart"]
PETS = 10_000
PROCESSORS = sorted(os.sched_getaffinity(0))
FIRST, LAST = PROCESSORS[0], PROCESSORS[-1]


@contextmanager
def pinned_service(folder: Path, processor: int = FIRST, **variables: str) -> Iterator[Service]:
    """Run the service with one worker on a processor, and this process and its clients on the last."""
    folder.mkdir()
    os.sched_setaffinity(0, [processor])
    try:
        with running_service(folder, WEB_CONCURRENCY="1", **variables) as service:
            os.sched_setaffinity(0, [LAST])
            yield service
    finally:
        os.sched_setaffinity(0, PROCESSORS)


def measure(name: str, folder: Path, options: argparse.Namespace) -> None:
    certificate, private_key = make_certificate(folder)
    tls = {"TLS_CERTFILE": str(certificate), "TLS_KEYFILE": str(private_key)}
    with seeded_database(name, PETS) as seeded, ExitStack() as stack:
        url = seeded.database.url
        api = stack.enter_context(pinned_service(folder / "api", DATABASE_URL=url))
        chosen = [kind for kind in kinds(api) if not options.kinds or kind.name in options.kinds]
        if "costs" in options.tables:
            costs(api, [kind for kind in chosen if not kind.needs_tls], folder, options.rounds)
            with pinned_service(folder / "tls", DATABASE_URL=url, **tls) as encrypted:
                costs(encrypted, [kind for kind in chosen if kind.needs_tls], folder, options.rounds)
        if "apart" in options.tables:
            pages = stack.enter_context(pinned_service(folder / "pages", LAST, DATABASE_URL=url))
            requests = [kind for kind in chosen if kind.path]
            apart(api, pages, requests, f"/v1/pets/{seeded.pet}", seeded.key, folder, options.rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", default=TABLES, metavar="TABLE", help="costs, apart")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--databases", nargs="+", choices=DATABASES, default=DATABASES)
    parser.add_argument("--kinds", nargs="+", help="names of kinds, as in the tables")
    options = parser.parse_args()
    for name in options.databases:
        command = f"python -m tests.benchmarks.strangers --rounds {options.rounds}"
        print(f"\n{name}, {conditions('Django', 'gunicorn')}; `{command}`")
        with tempfile.TemporaryDirectory() as folder:
            Path(folder).chmod(0o755)
            measure(name, Path(folder), options)


if __name__ == "__main__":
    main()
