"""`python -m tests.benchmarks.served` measures the running service under load, on SQLite and on PostgreSQL.

It needs `wrk` and `haproxy`. It prints these tables, or only those that are named on the command line:

- flat: The CPU time per request with 10,000 and with 1,000,000 pets, including PostgreSQL's, and the ratio.
- latency: The latency of 16 clients at 50 % load, with steady and with random pauses. Baselines are two queueing
  simulations and HAProxy. One simulation takes its service time from the throughput at saturation. The other takes it
  from the CPU time at 50 % load, which is longer because idle virtual CPUs wake up slowly. HAProxy responds
  immediately, so its p99 is the latency of the machine. Further rows are without and with staff on heavy
  admin pages.
- clients: The latency of few clients without pauses, and their throughput relative to that of 16 clients.
- slow: The latency of 16 clients, without and with 200 slow clients that send little or nothing.
- memory: The memory of all processes over a million requests (proportional set size), and its slope.
- distance: The throughput by the round-trip time to PostgreSQL.
- sizes: The throughput, memory and database connections by the number of workers; wrk runs on the same machine.
- start: The seconds from `serve` on a migrated database to the first response, by stage.
"""

import argparse
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
    for table in options.tables or TABLES:
        for name in options.databases:
            with tempfile.TemporaryDirectory() as folder:
                Path(folder).chmod(0o755)
                TABLES[table](name, Path(folder), options.rounds)


if __name__ == "__main__":
    main()
