"""Generate load with wrk, and measure its latency and cost."""

import re
import statistics
import subprocess
from pathlib import Path
from typing import NamedTuple

from tests.benchmarks.databases import Seeded
from tests.benchmarks.processes import cpu, machine_time
from tests.benchmarks.service import Service

CONNECTIONS = 16

# Positions in the first line of /proc/stat. The two idle times are without and with a wait for a disk.
_IDLE, _STEAL = (3, 4), 7


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
    script: Path,
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
    script.write_text("\n".join(lines))
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "-s", str(script)]
    command += ["-H", f"X-API-Key: {seeded.key}", (origin or service.url) + seeded.paths()[operation]]
    masters = [service.process.pid] if seeded.server is None else [service.process.pid, seeded.server]
    began, before = cpu(*masters), machine_time()
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    spent = sum(taken - began.get(pid, 0) for pid, taken in cpu(*masters).items())
    passed = [now - then for now, then in zip(machine_time(), before, strict=True)]
    assert "Non-2xx" not in output, output
    assert "Socket errors" not in output, output
    counted = re.search(r"(\d+) requests in ([\d.]+)s", output)
    assert counted, output
    units = {"us": 0.001, "ms": 1.0, "s": 1000.0}
    parts = {at: float(number) * units[unit] for at, number, unit in re.findall(r"(50|99)% +([\d.]+)(us|ms|s)", output)}
    busy = 1 - sum(passed[position] for position in _IDLE) / sum(passed)
    steal = passed[_STEAL] / sum(passed)
    return Load(int(counted[1]), float(counted[2]), spent, parts["50"], parts["99"], busy, steal)


def heads(title: str) -> None:
    print(f"\n{title:68}{'median':>8}{'p99':>8}{'ratio':>8}{'busy':>8}{'steal':>8}")


def row(label: str, loads: list[Load]) -> float:
    """Print the medians of the loads, and return the median of their p99."""
    seen = ((one.median, one.p99, one.busy, one.steal) for one in loads)
    median, p99, busy, steal = (statistics.median(part) for part in zip(*seen, strict=True))
    print(f"{label:68}{median:8.2f}{p99:8.2f}{p99 / median:8.1f}{busy:8.0%}{steal:8.1%}", flush=True)
    return p99
