"""Baselines for latencies: a queueing simulation, and HAProxy as a server that responds immediately."""

import heapq
import math
import random
import statistics
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.benchmarks.load import CONNECTIONS, Load, Pauses
from tests.benchmarks.served.sizes import WORKERS
from tests.service import free_port, responds
from tests.waiting import wait_until


@contextmanager
def haproxy(folder: Path) -> Iterator[str]:
    """Run HAProxy, which responds immediately to any request with one thread per worker, and yield its URL."""
    port = free_port()
    file = folder / "haproxy.cfg"
    file.write_text(
        f"""
global
    nbthread {WORKERS}
defaults
    mode http
    timeout client 60s
frontend control
    bind 127.0.0.1:{port}
    http-request return status 200 content-type application/json string "{{}}"
"""
    )
    process = subprocess.Popen(["haproxy", "-f", file], stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until(lambda: responds(url))
        yield url
    finally:
        process.terminate()
        process.wait()


def simulated_load(service_time: float, pauses: Pauses) -> Load:
    """Simulate the clients of one worker that needs exactly `service_time` milliseconds for each request.

    The clients pause as in `load`. A request only waits while the worker serves earlier ones.
    """
    clients = [random.uniform(0, pauses.minimum + pauses.spread) for _ in range(CONNECTIONS // WORKERS)]
    free, latencies = 0.0, []
    for _ in range(100_000):
        arrival = heapq.heappop(clients)
        free = max(arrival, free) + service_time
        latencies.append(free - arrival)
        # wrk's clock has a resolution of one millisecond.
        heapq.heappush(clients, math.ceil(free + math.floor(pauses.minimum + random.random() * pauses.spread)))
    percentiles = statistics.quantiles(latencies, n=100)
    busy = service_time * len(latencies) / free
    return Load(len(latencies), free / 1000, 0, percentiles[49], percentiles[98], busy, 0)
