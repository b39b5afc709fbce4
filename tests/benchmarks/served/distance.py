"""The throughput by the network round-trip time to PostgreSQL."""

import statistics
import tempfile
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from tests.benchmarks.databases import databases
from tests.benchmarks.latency_proxy import latency_proxy
from tests.benchmarks.load import load
from tests.benchmarks.served.sizes import FEW, WORKERS
from tests.service import running_service

# Round-trip times in milliseconds.
ROUND_TRIP_TIMES = (0, 0.3, 1, 3)


def distance(name: str, folder: Path, rounds: int) -> None:
    if name == "SQLite":
        return  # because it has no network connection
    operations = ("fetch one pet", "list 100 pets", "inventory", "post")
    with databases(name, FEW) as (seeded,), ExitStack() as stack:
        target = next(Path(parse_qs(urlsplit(seeded.url).query)["host"][0]).glob(".s.PGSQL.*[0-9]"))
        services = {}
        for milliseconds in ROUND_TRIP_TIMES:
            url = seeded.url
            if milliseconds:
                port = stack.enter_context(latency_proxy(target, milliseconds))
                url = f"postgresql://postgres@127.0.0.1:{port}/postgres"
            its_folder = Path(tempfile.mkdtemp(dir=folder))
            services[milliseconds] = stack.enter_context(
                running_service(its_folder, DATABASE_URL=url, WEB_CONCURRENCY=str(WORKERS))
            )
        rates: dict[tuple[float, str], list[float]] = {}
        for _ in range(rounds):
            for milliseconds, service in services.items():
                for operation in operations:
                    load(service, seeded, operation, 1)
                    rate = load(service, seeded, operation, 3).rate
                    rates.setdefault((milliseconds, operation), []).append(rate)
        heads = "".join(f"{operation:>15}" for operation in operations)
        title = f"{name}, requests/s by round-trip time in ms"
        print(f"\n{title}{heads}")
        for milliseconds in ROUND_TRIP_TIMES:
            medians = (statistics.median(rates[milliseconds, operation]) for operation in operations)
            print(f"{milliseconds:{len(title)}}{''.join(f'{rate:15,.0f}' for rate in medians)}", flush=True)
