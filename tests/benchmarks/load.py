"""Load from wrk, and what it measured."""

import re
import statistics
import subprocess
from pathlib import Path
from typing import NamedTuple

from tests.benchmarks.databases import Seeded
from tests.benchmarks.processes import cpu, machine_time
from tests.benchmarks.service import Service

CONNECTIONS = 16

# Places in the first line of /proc/stat; of those that are idle, one waits for a disk.
_IDLE, _STEAL = (3, 4), 7


class Pauses(NamedTuple):
    """Of a client between an answer and its next request, in milliseconds: `least`, and up to `spread` more by chance,
    without the fraction, as wrk has it.
    """

    least: float
    spread: float

    @classmethod
    def steady(cls, mean: float) -> "Pauses":
        """Always `mean`, but for the fraction."""
        return cls(mean, 1)

    @classmethod
    def random(cls, mean: float) -> "Pauses":
        """Anything up to twice the `mean`."""
        return cls(0, 2 * mean + 1)


class Load(NamedTuple):
    """What wrk tells, and the CPU that the service and its database took; latencies in milliseconds.

    And what part of all CPUs' time was not idle, the clients' own included, and what part a virtual machine's host took
    for others (`steal` in proc(5)): the p99 has both.
    """

    requests: int
    seconds: float
    cpu: float
    median: float
    p99: float
    busy: float
    stolen: float

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
    """Ask from so many connections: as fast as the service answers, or with pauses.

    Not the service is asked but another server, if there is an `origin`.
    """
    lines = []
    if operation == "post":
        lines += ['wrk.method = "POST"', """wrk.body = '{"name": "Rex", "tag": "dog"}'"""]
        lines += ['wrk.headers["Content-Type"] = "application/json"']
    if pauses is not None:
        lines += [f"function delay() return math.floor({pauses.least} + math.random() * {pauses.spread}) end"]
    script.write_text("\n".join(lines))
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "-s", str(script)]
    command += ["-H", f"X-API-Key: {seeded.key}", (origin or service.url) + seeded.paths()[operation]]
    masters = [service.process.pid] if seeded.server is None else [service.process.pid, seeded.server]
    began, before = cpu(*masters), machine_time()
    told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    spent = sum(taken - began.get(pid, 0) for pid, taken in cpu(*masters).items())
    passed = [now - then for now, then in zip(machine_time(), before, strict=True)]
    assert "Non-2xx" not in told, told
    assert "Socket errors" not in told, told
    counted = re.search(r"(\d+) requests in ([\d.]+)s", told)
    assert counted, told
    units = {"us": 0.001, "ms": 1.0, "s": 1000.0}
    parts = {at: float(number) * units[unit] for at, number, unit in re.findall(r"(50|99)% +([\d.]+)(us|ms|s)", told)}
    busy = 1 - sum(passed[place] for place in _IDLE) / sum(passed)
    stolen = passed[_STEAL] / sum(passed)
    return Load(int(counted[1]), float(counted[2]), spent, parts["50"], parts["99"], busy, stolen)


def heads(title: str) -> None:
    print(f"\n{title:60}{'median':>8}{'p99':>8}{'ratio':>8}{'busy':>8}{'stolen':>8}")


def row(label: str, loads: list[Load]) -> float:
    """Print the medians of what `loads` saw; the p99."""
    seen = ((one.median, one.p99, one.busy, one.stolen) for one in loads)
    median, p99, busy, stolen = (statistics.median(part) for part in zip(*seen, strict=True))
    print(f"{label:60}{median:8.2f}{p99:8.2f}{p99 / median:8.1f}{busy:8.0%}{stolen:8.1%}", flush=True)
    return p99
