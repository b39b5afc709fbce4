"""The p99 latency of a client of the API, without and with hostile clients of each kind."""

import os
import random
import statistics
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tests.benchmarks.processes import cpu_seconds
from tests.benchmarks.strangers.kinds import Kind
from tests.benchmarks.tables import print_header, print_row
from tests.benchmarks.wrk import Wrk
from tests.server.connections import Client, get
from tests.service import Service
from tests.waiting import wait_until

SECONDS = 2
HOSTILE_CLIENTS = 200
# Maximum seconds between two requests of the measured client.
PAUSE = 0.01


def latencies(service: Service, request: bytes) -> list[float]:
    """Return the milliseconds from each request to its response."""
    waits = []
    # This thread, but not its child processes, runs as soon as it has something to do if the kernel permits it.
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(1))
    with Client(service) as client:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            began = time.perf_counter()
            client.send(request)
            assert client.response().status == 200
            waits.append((time.perf_counter() - began) * 1000)
            time.sleep(random.uniform(0, PAUSE))
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    return waits[1:]  # the first one waits with those of strangers


def hostile_latencies(service: Service, request: bytes, target: Service, kind: Kind, folder: Path) -> list[float]:
    """Return the same while hostile clients request a path of `target` without pauses."""
    url, options = target.url + kind.path, {"folder": folder, "connections": HOSTILE_CLIENTS, "seconds": 600}
    wrk = Wrk(url, kind.headers, kind.script, **options)
    try:
        time.sleep(1)  # until the clients are at full speed
        return latencies(service, request)
    finally:
        wrk.responses(now=True)


def wait_until_idle(service: Service) -> None:
    """Wait until the service has ended the work of earlier hostile clients, such as checks of passwords."""

    def is_idle() -> bool:
        before = cpu_seconds(service.process.pid)
        time.sleep(0.3)
        return cpu_seconds(service.process.pid) - before < 0.03

    wait_until(is_idle)


def p99(waits: Sequence[float]) -> float:
    return statistics.quantiles(waits, n=100, method="inclusive")[98]


def cell(api: Service, request: bytes, target: Service, kind: Kind, folder: Path, rounds: int) -> str:
    """Return the p99 of the API without and with hostile clients of `target`, and the ratio."""
    without, with_them = [], []
    for _ in range(rounds):
        for service in (api, target):
            wait_until_idle(service)
        without += latencies(api, request)
        with_them += hostile_latencies(api, request, target, kind, folder)
    return f"{p99(without):.1f} → {p99(with_them):.1f}: **{p99(with_them) / p99(without):.1f}**"


def apart(api: Service, pages: Service, kinds: Sequence[Kind], path: str, key: str, folder: Path, rounds: int) -> None:
    """Print a row for each kind: the hostile clients request `api`, and then `pages` if the kind is one of a page."""
    request = get(path, f"X-API-Key: {key}".encode())
    print_header("hostile clients", "one process, p99 of the API in ms", "pages apart, p99 in ms")
    for kind in kinds:
        targets = [api] if kind.path.startswith("/v1/") else [api, pages]
        cells = [cell(api, request, target, kind, folder, rounds) for target in targets]
        print_row(kind.name, *[*cells, ""][:2])
