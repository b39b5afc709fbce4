"""Latencies to compare with: those of chance alone, and those of HAProxy."""

import heapq
import math
import random
import statistics
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.benchmarks.load import CONNECTIONS, Load, Pauses
from tests.benchmarks.served.sizes import WORKERS
from tests.benchmarks.service import free_port, wait_until


@contextmanager
def haproxy(folder: Path) -> Iterator[str]:
    """The address of a server in C that answers anything at once, on as many threads as there are workers."""
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
    address = f"http://127.0.0.1:{port}"
    try:
        wait_until(lambda: _answers(address))
        yield address
    finally:
        process.terminate()
        process.wait()


def _answers(address: str) -> bool:
    try:
        return httpx.get(address, trust_env=False).is_success
    except httpx.TransportError:
        return False


def by_chance(service: float, pauses: Pauses) -> Load:
    """What the clients of one worker see, who pause as in `load`, if each request takes it exactly `service` ms.

    Only that they come at random makes them wait for each other.
    """
    clients = [random.uniform(0, pauses.least + pauses.spread) for _ in range(CONNECTIONS // WORKERS)]
    free, latencies = 0.0, []
    for _ in range(100_000):
        asked = heapq.heappop(clients)
        free = max(asked, free) + service
        latencies.append(free - asked)
        # wrk's clock has milliseconds.
        heapq.heappush(clients, math.ceil(free + math.floor(pauses.least + random.random() * pauses.spread)))
    percentiles = statistics.quantiles(latencies, n=100)
    busy = service * len(latencies) / free
    return Load(len(latencies), free / 1000, 0, percentiles[49], percentiles[98], busy, 0)
