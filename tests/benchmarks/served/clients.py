"""Latencies of few clients, and of clients among slow ones."""

import statistics
from pathlib import Path

from tests.benchmarks.databases import databases
from tests.benchmarks.load import CONNECTIONS, Load, Pauses, heads, load, row
from tests.benchmarks.served.sizes import FEW, WORKERS
from tests.benchmarks.service import running_service, slow_clients

FEWER = (1, 2, 3, 4, 8)
SLOW_CLIENTS = 200


def clients(name: str, folder: Path, rounds: int) -> None:
    script = folder / "load.lua"
    with (
        databases(name, folder, FEW) as (seeded,),
        running_service(folder, DATABASE_URL=seeded.url, WEB_CONCURRENCY=str(WORKERS)) as service,
    ):
        heads(f"{name}, milliseconds")
        for operation in ("get one", "list 100"):
            seen: dict[int, list[Load]] = {number: [] for number in (*FEWER, CONNECTIONS)}
            load(service, seeded, operation, 1, script)
            for _ in range(rounds):
                for number, loads in seen.items():
                    loads.append(load(service, seeded, operation, 3, script, connections=number))
            rates = {number: statistics.median(one.rate for one in loads) for number, loads in seen.items()}
            for number, loads in seen.items():
                part = rates[number] / rates[CONNECTIONS]
                row(f"{operation}, clients: {number}, {rates[number]:.0f} a second, {part:.0%} of the most", loads)


def slow(name: str, folder: Path, rounds: int) -> None:
    script = folder / "load.lua"
    with databases(name, folder, FEW) as (seeded,), running_service(folder, DATABASE_URL=seeded.url) as service:
        heads(f"{name}, milliseconds")
        for operation in ("get one", "health"):
            without, among = [], []
            for _ in range(rounds):
                without.append(load(service, seeded, operation, 5, script, Pauses.random(20)))
                with slow_clients(service, seeded.key, SLOW_CLIENTS):
                    among.append(load(service, seeded, operation, 5, script, Pauses.random(20)))
            p99 = row(operation, without)
            times = row(f"  among {SLOW_CLIENTS} slow clients", among) / p99
            print(f"    {times:.1f} times the p99 without them", flush=True)
