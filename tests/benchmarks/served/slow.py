"""The latency of clients while others are slow."""

import statistics
from pathlib import Path

from tests.benchmarks.databases import databases
from tests.benchmarks.load import load
from tests.benchmarks.served.sizes import FEW
from tests.benchmarks.wrk import Responses
from tests.faults.slow_clients import slow_clients
from tests.service import running_service

SLOW_CLIENTS = 200
# The mean pause of a client between a response and its next request, in milliseconds.
PAUSE = 20


def slow(name: str, folder: Path, rounds: int) -> None:
    with databases(name, FEW) as (seeded,), running_service(folder, DATABASE_URL=seeded.url) as service:
        title = f"{name}, latency in ms"
        print(f"\n{title:40}{'median':>8}{'p99':>8}")
        for operation in ("fetch one pet", "health"):
            without_them, with_them = [], []
            for _ in range(rounds):
                without_them.append(load(service, seeded, operation, 5, PAUSE))
                with slow_clients(service, seeded.key, SLOW_CLIENTS):
                    with_them.append(load(service, seeded, operation, 5, PAUSE))
            p99 = row(operation, without_them)
            times = row(f"  with {SLOW_CLIENTS} slow clients", with_them) / p99
            print(f"    {times:.1f} times the p99 without them", flush=True)


def row(label: str, measurements: list[Responses]) -> float:
    """Print the medians of the rounds, and return that of the p99."""
    pairs = [(one.median, one.p99) for one in measurements]
    median, p99 = (statistics.median(values) for values in zip(*pairs, strict=True))
    print(f"{label:40}{median:8.2f}{p99:8.2f}")
    return p99
