"""`python -m tests.benchmarks.served`: the running service under load, on SQLite and on PostgreSQL.

Needs `wrk` and `haproxy`. Prints, each as a table of its own:
  flat      CPU a request with 10,000 and with 1,000,000 pets, that of PostgreSQL included, and the ratio
  latency   at half of the rate that saturates it, which clients ask at a steady pace or at random; beside what chance
            alone makes of it in workers that take the same time for each request, that of saturation or the CPU that
            it takes at half of it, which is more after each idle moment of a virtual CPU; and beside HAProxy, which
            answers at once: its p99 is what the machine adds. And for sixteen clients, with and without staff on
            heavy pages
  clients   latencies of so many clients who ask again as soon as they are answered, and what part that is of the most
  slow      for sixteen clients, with and without two hundred that send a byte a second, half a request or nothing
  memory    proportional size of all processes over a million requests, and its slope
  distance  requests a second while PostgreSQL is so many milliseconds away, there and back
  sizes     requests a second, memory and database connections of one worker process and of more, wrk beside them
  start     seconds from `serve` on a migrated database to the first answer, and where they go
Name some of these to have them alone.
"""

import argparse
import logging
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.benchmarks.served.clients import clients, slow
from tests.benchmarks.served.distance import distance
from tests.benchmarks.served.flat import flat
from tests.benchmarks.served.latency import latency
from tests.benchmarks.served.sizes import memory, sizes
from tests.benchmarks.served.start import start

TABLES: dict[str, Callable[[str, Path, int], None]] = {
    "flat": flat,
    "latency": latency,
    "clients": clients,
    "slow": slow,
    "memory": memory,
    "distance": distance,
    "sizes": sizes,
    "start": start,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=", ".join(TABLES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--databases", nargs="+", default=["SQLite", "PostgreSQL"])
    options = parser.parse_args()
    if unknown := set(options.tables) - set(TABLES):
        parser.error(f"there is no table {', '.join(sorted(unknown))}; there are {', '.join(TABLES)}")
    logging.disable(logging.INFO)  # of the clients
    for table in options.tables or TABLES:
        for name in options.databases:
            with tempfile.TemporaryDirectory() as folder:
                Path(folder).chmod(0o755)
                TABLES[table](name, Path(folder), options.rounds)


if __name__ == "__main__":
    main()
