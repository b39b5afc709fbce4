"""The memory over time, and the throughput and memory by the number of workers."""

import os
import statistics
from pathlib import Path

from tests.benchmarks.databases import databases
from tests.benchmarks.load import load
from tests.benchmarks.processes import memory as memory_of
from tests.service import running_service

FEW, MANY = 10_000, 1_000_000
WORKERS = 2
CONNECTIONS = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'petservice'"


def memory(name: str, folder: Path, rounds: int) -> None:
    with databases(name, FEW) as (seeded,), running_service(folder, DATABASE_URL=seeded.url) as service:
        print(f"\n{name}{'requests':>12}{'MiB':>8}")
        requests, points = 0, []
        while requests < 1_000_000:
            for operation in ("fetch one pet", "list 100 pets", "inventory"):
                requests += load(service, seeded, operation, 10).number
            points.append((requests, memory_of(service.process.pid)))
            print(f"{'':{len(name)}}{points[-1][0]:12,}{points[-1][1]:8.1f}", flush=True)
        # The first tenth is the warm-up.
        slope, _ = statistics.linear_regression(*zip(*points[len(points) // 10 :], strict=True))
        print(f"{'':{len(name)}} slope: {slope * 1e6:.2f} MiB per million requests", flush=True)


def sizes(name: str, folder: Path, rounds: int) -> None:
    operations = ("fetch one pet", "list 100 pets", "inventory", "post")
    with databases(name, FEW) as (seeded,):
        heads = "".join(f"{operation:>15}" for operation in operations)
        print(f"\n{name}, requests/s{heads}{'MiB':>8}{'connections':>13}")
        for workers in range(1, (os.cpu_count() or 1) + 1):
            with running_service(folder, DATABASE_URL=seeded.url, WEB_CONCURRENCY=str(workers)) as service:
                rates: dict[str, list[float]] = {operation: [] for operation in operations}
                for _ in range(rounds):
                    for operation in operations:
                        rates[operation].append(load(service, seeded, operation, 4).rate)
                medians = "".join(f"{statistics.median(rates[operation]):15,.0f}" for operation in operations)
                size = memory_of(service.process.pid)
                used = service.execute(CONNECTIONS)[0][0] if seeded.server else "-"
                print(f"{workers:{len(name) + 4}} workers{medians}{size:8.0f}{used:>13}", flush=True)
