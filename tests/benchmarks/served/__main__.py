"""`python -m tests.benchmarks.served` measures the running service under load, on SQLite and on PostgreSQL.

It needs `wrk`. It prints these tables, or only those that are named on the command line:

- flat: The CPU time per request with 10,000 and with 1,000,000 pets, including PostgreSQL's, and the ratio.
- slow: The latency of 16 clients, without and with 200 slow clients that send little or nothing.
- memory: The memory of all processes over a million requests (proportional set size), and its slope.
- distance: The throughput by the round-trip time to PostgreSQL.
- sizes: The throughput, memory and database connections by the number of workers; wrk runs on the same machine.
"""

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.benchmarks.databases import DATABASES
from tests.benchmarks.served.distance import distance
from tests.benchmarks.served.flat import flat
from tests.benchmarks.served.sizes import memory, sizes
from tests.benchmarks.served.slow import slow

TABLES: dict[str, Callable[[str, Path, int], None]] = {
    "flat": flat,
    "slow": slow,
    "memory": memory,
    "distance": distance,
    "sizes": sizes,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", choices=TABLES, metavar="TABLE", help=", ".join(TABLES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--databases", nargs="+", choices=DATABASES, default=DATABASES)
    options = parser.parse_args()
    for table in options.tables or TABLES:
        for name in options.databases:
            with tempfile.TemporaryDirectory() as folder:
                Path(folder).chmod(0o755)
                TABLES[table](name, Path(folder), options.rounds)


if __name__ == "__main__":
    main()
