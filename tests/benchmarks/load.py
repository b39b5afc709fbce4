"""Generate load with wrk, and measure its latency and cost."""

import statistics
from typing import NamedTuple

import psutil

from tests.benchmarks.databases import Seeded
from tests.benchmarks.processes import cpu_seconds
from tests.benchmarks.wrk import Wrk
from tests.service import Service

CONNECTIONS = 16


class Pauses(NamedTuple):
    """The pauses of a client between a response and its next request, in milliseconds.

    Each is `minimum` plus a random time of up to `spread`, rounded down because wrk only accepts whole milliseconds.
    """

    minimum: float
    spread: float

    @classmethod
    def steady(cls, mean: float) -> "Pauses":
        """Return constant pauses of `mean`, rounded down to whole milliseconds."""
        return cls(mean, 1)

    @classmethod
    def random(cls, mean: float) -> "Pauses":
        """Return random pauses of up to twice `mean`."""
        return cls(0, 2 * mean + 1)


class Load(NamedTuple):
    """A measurement of wrk, with latencies in milliseconds and the CPU time of the service and its database in seconds.

    `busy` is the fraction of the machine's CPU time that was not idle, including that of the clients. `steal` is the
    fraction that the host of a virtual machine used for others, see proc(5). Both increase the p99.
    """

    requests: int
    seconds: float
    cpu: float
    median: float
    p99: float
    busy: float
    steal: float

    @property
    def rate(self) -> float:
        return self.requests / self.seconds


def load(
    service: Service,
    seeded: Seeded,
    operation: str,
    seconds: int,
    pauses: Pauses | None = None,
    origin: str | None = None,
    connections: int = CONNECTIONS,
) -> Load:
    """Send requests over `connections` connections, with or without pauses, and return the measurement.

    The requests go to the service, or to another server at the URL `origin`.
    """
    lines = []
    if operation == "post":
        lines += ['wrk.method = "POST"', """wrk.body = '{"name": "Rex", "tag": "dog"}'"""]
        lines += ['wrk.headers["Content-Type"] = "application/json"']
    if pauses is not None:
        lines += [f"function delay() return math.floor({pauses.minimum} + math.random() * {pauses.spread}) end"]
    url, headers = (origin or service.url) + seeded.paths()[operation], [f"X-API-Key: {seeded.key}"]
    masters = service.process.pid, seeded.server
    began = cpu_seconds(*masters)
    psutil.cpu_times_percent()  # the next call counts from this one
    wrk = Wrk(url, headers, "\n".join(lines), folder=seeded.folder, connections=connections, seconds=seconds)
    seen = wrk.responses()
    spent, machine = cpu_seconds(*masters) - began, psutil.cpu_times_percent()
    assert seen.succeeded, f"not all responses of {url} are 2xx"
    busy, steal = 1 - (machine.idle + machine.iowait) / 100, machine.steal / 100
    return Load(seen.number, seen.seconds, spent, seen.median, seen.p99, busy, steal)


def heads(title: str) -> None:
    print(f"\n{title:68}{'median':>8}{'p99':>8}{'ratio':>8}{'busy':>8}{'steal':>8}")


def row(label: str, loads: list[Load]) -> float:
    """Print the medians of the loads, and return the median of their p99."""
    seen = ((one.median, one.p99, one.busy, one.steal) for one in loads)
    median, p99, busy, steal = (statistics.median(part) for part in zip(*seen, strict=True))
    print(f"{label:68}{median:8.2f}{p99:8.2f}{p99 / median:8.1f}{busy:8.0%}{steal:8.1%}", flush=True)
    return p99
