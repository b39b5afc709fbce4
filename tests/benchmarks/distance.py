"""`python -m tests.benchmarks.distance` measures the throughput by the network round-trip time to PostgreSQL.

It needs `wrk`. If a request sends one statement, its rate falls as one round trip for each request explains.
"""

import argparse
import statistics
import tempfile
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from tests.benchmarks.databases import Seeded, seeded_database
from tests.benchmarks.latency_proxy import latency_proxy
from tests.benchmarks.wrk import Wrk
from tests.service import Service, running_service

# Round-trip times in milliseconds.
ROUND_TRIP_TIMES = (0, 0.3, 1, 2)
PETS = 10_000
CONNECTIONS = 16
_POST = """
wrk.method = "POST"
wrk.body = '{"name": "Rex", "tag": "dog"}'
wrk.headers["Content-Type"] = "application/json"
"""
# The path and the script of each request.
REQUESTS = {
    "fetch one pet": ("/v1/pets/{pet}", ""),
    "list 100 pets": ("/v1/pets", ""),
    "inventory": ("/v1/store/inventory", ""),
    "post": ("/v1/pets", _POST),
}


def rate(service: Service, seeded: Seeded, request: str, seconds: int) -> float:
    """Return the responses per second, all of which must be successes."""
    path, script = REQUESTS[request]
    url, headers = service.url + path.format(pet=seeded.pet), [f"X-API-Key: {seeded.key}"]
    seen = Wrk(url, headers, script, folder=seeded.folder, connections=CONNECTIONS, seconds=seconds).responses()
    assert not seen.failed, f"not all responses of {url} are 2xx"
    return seen.rate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    with seeded_database("PostgreSQL", PETS) as seeded, ExitStack() as stack:
        target = next(Path(parse_qs(urlsplit(seeded.url).query)["host"][0]).glob(".s.PGSQL.*[0-9]"))
        rates: dict[float, dict[str, float]] = {}
        for milliseconds in ROUND_TRIP_TIMES:
            url = seeded.url
            if milliseconds:
                port = stack.enter_context(latency_proxy(target, milliseconds))
                url = f"postgresql://postgres@127.0.0.1:{port}/postgres"
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            with running_service(folder, DATABASE_URL=url, WEB_CONCURRENCY="2") as service:
                rates[milliseconds] = {}
                for request in REQUESTS:
                    rate(service, seeded, request, 1)  # warms up
                    runs = [rate(service, seeded, request, 3) for _ in range(rounds)]
                    rates[milliseconds][request] = statistics.median(runs)
    print(f"| requests/s by round-trip time | {' | '.join(REQUESTS)} |\n| ---: |{' ---: |' * len(REQUESTS)}")
    for milliseconds, found in rates.items():
        print(f"| {milliseconds} ms | {' | '.join(f'{one:,.0f}' for one in found.values())} |")


if __name__ == "__main__":
    main()
