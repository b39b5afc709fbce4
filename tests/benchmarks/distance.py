"""`python -m tests.benchmarks.distance` measures the throughput by the network round-trip time to PostgreSQL.

It needs `wrk`. If a request sends one statement, its rate falls as one round trip for each request explains.
"""

import argparse
import statistics
import tempfile
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from tests.benchmarks.filled_databases import seeded_database
from tests.benchmarks.latency_proxy import latency_proxy
from tests.benchmarks.peers.load import PATHS, Target, measure
from tests.benchmarks.tables import print_header, print_row
from tests.service import running_service

# Round-trip times in milliseconds.
ROUND_TRIP_TIMES = (0, 0.3, 1, 2)
PETS = 10_000
CONNECTIONS = 16
SCENARIOS = [scenario for scenario in PATHS if scenario not in ("post-key", "post-replay")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    with seeded_database("PostgreSQL", PETS) as seeded, ExitStack() as stack:
        unix_socket = next(Path(parse_qs(urlsplit(seeded.database.url).query)["host"][0]).glob(".s.PGSQL.*[0-9]"))
        rates: dict[float, dict[str, float]] = {}
        for milliseconds in ROUND_TRIP_TIMES:
            url = seeded.database.url
            if milliseconds:
                port = stack.enter_context(latency_proxy(unix_socket, milliseconds))
                url = f"postgresql://postgres@127.0.0.1:{port}/postgres"
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            with running_service(folder, DATABASE_URL=url, WEB_CONCURRENCY="2") as service:
                target = Target(service.url, service.process.pid, None, seeded.key)
                rates[milliseconds] = {}
                for scenario in SCENARIOS:
                    measure(target, scenario, [seeded.pet], 1, CONNECTIONS, folder)  # warms up
                    runs = [measure(target, scenario, [seeded.pet], 3, CONNECTIONS, folder).rate for _ in range(rounds)]
                    rates[milliseconds][scenario] = statistics.median(runs)
    print_header("round-trip time", *(f"{scenario}, requests/s" for scenario in SCENARIOS))
    for milliseconds, found in rates.items():
        print_row(f"{milliseconds} ms", *(f"{one:,.0f}" for one in found.values()))


if __name__ == "__main__":
    main()
