"""The latency of few clients, and of clients while others are slow."""

import statistics
from pathlib import Path

from tests.benchmarks.databases import databases
from tests.benchmarks.load import CONNECTIONS, Load, Pauses, heads, load, row
from tests.benchmarks.served.sizes import FEW, WORKERS
from tests.faults.slow_clients import slow_clients
from tests.service import running_service

FEWER = (1, 2, 3, 4, 8)
SLOW_CLIENTS = 200


def clients(name: str, folder: Path, rounds: int) -> None:
    with (
        databases(name, FEW) as (seeded,),
        running_service(folder, DATABASE_URL=seeded.url, WEB_CONCURRENCY=str(WORKERS)) as service,
    ):
        heads(f"{name}, latency in ms")
        for operation in ("fetch one pet", "list 100 pets"):
            seen: dict[int, list[Load]] = {number: [] for number in (*FEWER, CONNECTIONS)}
            load(service, seeded, operation, 1)
            for _ in range(rounds):
                for number, loads in seen.items():
                    loads.append(load(service, seeded, operation, 3, connections=number))
            rates = {number: statistics.median(one.rate for one in loads) for number, loads in seen.items()}
            for number, loads in seen.items():
                part = rates[number] / rates[CONNECTIONS]
                rate = f"{rates[number]:.0f} requests/s, {part:.0%} of {CONNECTIONS} clients"
                row(f"{operation}, clients: {number}, {rate}", loads)


def slow(name: str, folder: Path, rounds: int) -> None:
    with databases(name, FEW) as (seeded,), running_service(folder, DATABASE_URL=seeded.url) as service:
        heads(f"{name}, latency in ms")
        for operation in ("fetch one pet", "health"):
            without_them, with_them = [], []
            for _ in range(rounds):
                without_them.append(load(service, seeded, operation, 5, Pauses.random(20)))
                with slow_clients(service, seeded.key, SLOW_CLIENTS):
                    with_them.append(load(service, seeded, operation, 5, Pauses.random(20)))
            p99 = row(operation, without_them)
            times = row(f"  with {SLOW_CLIENTS} slow clients", with_them) / p99
            print(f"    {times:.1f} times the p99 without them", flush=True)
