"""Generate load with wrk."""

import re
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

_PERCENTILES = re.compile(r"(50|99)% +([\d.]+)(us|ms|s)")
_MILLISECONDS = {"us": 0.001, "ms": 1.0, "s": 1000.0, "m": 60_000.0}


class Responses(NamedTuple):
    """A measurement of wrk: the number of responses, the seconds, latencies in ms, and whether all succeeded."""

    number: int
    seconds: float
    median: float
    p99: float
    succeeded: bool


class Wrk:
    """A running wrk that requests `url` on `connections` connections for `seconds` seconds."""

    def __init__(
        self,
        url: str,
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
        self._process = subprocess.Popen([*command, url], stdout=subprocess.PIPE, text=True)

    def responses(self, *, now: bool = False) -> Responses:
        """Return the measurement at the end of the time, or immediately if `now`."""
        if now:
            self._process.send_signal(signal.SIGINT)
        output = self._process.communicate()[0]
        counted = re.search(r"(\d+) requests in ([\d.]+)(ms|s|m),", output)
        assert counted, output
        parts = {at: float(number) * _MILLISECONDS[unit] for at, number, unit in _PERCENTILES.findall(output)}
        seconds = float(counted[2]) * _MILLISECONDS[counted[3]] / 1000
        succeeded = "Non-2xx" not in output and "Socket errors" not in output
        return Responses(int(counted[1]), seconds, parts.get("50", 0), parts.get("99", 0), succeeded)
