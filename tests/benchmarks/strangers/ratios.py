"""The p99 latency of other clients, without and with hostile clients of each kind."""

import itertools
import os
import random
import ssl
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import NamedTuple

from tests.benchmarks.processes import processes
from tests.benchmarks.strangers.clients import hostile_clients
from tests.benchmarks.strangers.kinds import Kind
from tests.benchmarks.strangers.processor_time import ProcessorTime
from tests.server.connections import Client, get
from tests.service import Service
from tests.waiting import wait_until

SECONDS = 2


class Other(NamedTuple):
    """A measured client, which pauses up to `pause` seconds between requests and uses its connections in turn."""

    name: str
    path: str
    headers: tuple[str, ...]
    pause: float
    connections: int = 1


@contextmanager
def first_on_its_processor() -> Iterator[None]:
    """Let this thread, but not its child processes, run as soon as it has something to do if the kernel permits it."""
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(1))
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def worker_of(service: Service) -> int:
    """Return the process id of the one worker."""
    _, worker = processes(service.process.pid)
    return worker.pid


def elapsed() -> float:
    return time.perf_counter() * 1000


def measured(service: Service, other: Other, *, is_elapsed: bool) -> list[float]:
    """Return the milliseconds from each request to its response, elapsed or of the worker's processor time."""
    context = ssl._create_unverified_context() if service.url.startswith("https") else None
    request = get(other.path, *(header.encode() for header in other.headers))
    waits = []
    with ExitStack() as stack:
        clients = [stack.enter_context(Client(service, context=context)) for _ in range(other.connections)]
        stack.enter_context(first_on_its_processor())
        for client in clients:
            _send(client, request)  # the first request waits with those of strangers, and may start threads
        used = stack.enter_context(ProcessorTime(worker_of(service)))
        milliseconds = elapsed if is_elapsed else used.milliseconds
        end = time.monotonic() + SECONDS
        for client in itertools.cycle(clients):
            if time.monotonic() > end:
                break
            began = milliseconds()
            _send(client, request)
            waits.append(milliseconds() - began)
            time.sleep(random.uniform(0, other.pause))
    return waits


def wait_until_idle(service: Service) -> None:
    """Wait until the worker has ended the work of earlier hostile clients, such as checks of passwords."""
    worker = worker_of(service)

    def is_idle() -> bool:
        with ProcessorTime(worker) as used:
            time.sleep(0.3)
            return used.milliseconds() < 30

    wait_until(is_idle)


def _send(client: Client, request: bytes) -> None:
    client.send(request)
    response = client.response()
    assert response.status == 200, response


def p99(waits: Sequence[float]) -> float:
    return statistics.quantiles(waits, n=100, method="inclusive")[98]


def ratios(
    service: Service,
    kinds: Sequence[Kind],
    others: Sequence[Other],
    folder: Path,
    rounds: int,
    *,
    target: Service | None = None,
) -> None:
    """Print a row for each kind with its throughput, the p99 of the others without and with it, and the ratio.

    With a `target`, hostile clients use that service, and the latencies are elapsed times.
    """
    is_elapsed, target = target is not None, target or service
    print(f"\n| hostile clients | requests per second | {' | '.join(f'{other.name}, p99 in ms' for other in others)} |")
    print("| --- |" + " ---: |" * (1 + len(others)))
    for kind in kinds:
        seen: dict[str, dict[bool, list[float]]] = {other.name: {True: [], False: []} for other in others}
        rates: list[float] = []
        for _ in range(rounds):
            for hostile in (False, True):
                wait_until_idle(target)
                with ExitStack() as stack:
                    rate = stack.enter_context(hostile_clients(target, kind, folder) if hostile else nullcontext([]))
                    for other in others:
                        seen[other.name][hostile] += measured(service, other, is_elapsed=is_elapsed)
                rates += rate
        cells = []
        for waits in seen.values():
            without, with_them = p99(waits[False]), p99(waits[True])
            cells.append(f"{without:.1f} → {with_them:.1f}: **{with_them / without:.1f}**")
        print(f"| {kind.name} | {statistics.median(rates):,.0f} | {' | '.join(cells)} |", flush=True)
