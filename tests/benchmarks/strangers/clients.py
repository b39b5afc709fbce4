"""The clients of this benchmark: wrk, which repeats one request, and hostile clients of each kind."""

import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from tests.benchmarks.service import ROOT, Service, wait_until
from tests.benchmarks.strangers.kinds import Kind

HOSTILE_CLIENTS = 200
_UNITS = {"us": 0.001, "ms": 1.0, "s": 1000.0}


class Responses(NamedTuple):
    """A measurement of wrk: the number of responses, the seconds, latencies in ms, and whether all succeeded."""

    number: int
    seconds: float
    median: float
    p99: float
    succeeded: bool


class Wrk:
    """A running wrk that requests `path` on `connections` connections for `seconds` seconds."""

    def __init__(
        self,
        service: Service,
        path: str,
        headers: Sequence[str] = (),
        script: str = "",
        *,
        folder: Path,
        connections: int,
        seconds: int,
    ) -> None:
        file = folder / f"{time.monotonic_ns()}.lua"
        file.write_text(f"math.randomseed({time.monotonic_ns() % 2**31})\n{script}")
        command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "--timeout", "60s", "-s", str(file)]
        command += [part for header in headers for part in ("-H", header)]
        self._process = subprocess.Popen(
            [*command, service.url + path],
            stdout=subprocess.PIPE,
            text=True,
        )

    def responses(self, *, now: bool = False) -> Responses:
        """Return the measurement at the end of the time, or immediately if `now`."""
        if now:
            self._process.send_signal(signal.SIGINT)
        output = self._process.communicate()[0]
        counted = re.search(r"(\d+) requests in ([\d.]+)(ms|s|m),", output)
        assert counted, output
        parts = {at: float(number) * _UNITS[unit] for at, number, unit in _PERCENTILES.findall(output)}
        seconds = float(counted[2]) * {"ms": 0.001, "s": 1, "m": 60}[counted[3]]
        succeeded = "Non-2xx" not in output and "Socket errors" not in output
        return Responses(int(counted[1]), seconds, parts.get("50", 0), parts.get("99", 0), succeeded)


_PERCENTILES = re.compile(r"(50|99)% +([\d.]+)(us|ms|s)")


@contextmanager
def hostile_clients(service: Service, kind: Kind, folder: Path) -> Iterator[list[float]]:
    """Run HOSTILE_CLIENTS clients of a kind without pauses, and append their throughput to the yielded list."""
    rate: list[float] = []
    began = time.monotonic()
    if kind.path:
        wrk = Wrk(
            *(service, kind.path, kind.headers, kind.script),
            **{"folder": folder, "connections": HOSTILE_CLIENTS, "seconds": 600},
        )
        time.sleep(1)  # until the clients are at full speed
        yield rate
        responses = wrk.responses(now=True)
        rate.append(responses.number / responses.seconds)
        return
    port = str(urlsplit(service.url).port)
    command = [sys.executable, "-m", "tests.benchmarks.strangers.connections", kind.name, port, str(HOSTILE_CLIENTS)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    wait_until(lambda: "asyncio" in Path(f"/proc/{process.pid}/maps").read_text())
    time.sleep(1.5)  # until the clients have connected
    yield rate
    process.send_signal(signal.SIGINT)
    made = int(process.communicate()[0])
    rate.append(made / (time.monotonic() - began))
