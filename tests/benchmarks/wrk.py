"""Generate load with wrk."""

import json
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

# wrk calls this at the end. Its line is the last one of the output.
_DONE = """
function done(summary, latency, requests)
  local errors = summary.errors
  local failed = errors.connect + errors.read + errors.write + errors.timeout + errors.status
  io.write(string.format("[%d, %f, %f, %d]", summary.requests, summary.duration / 1e6,
    latency:percentile(99) / 1e3, failed))
end
"""


class Responses(NamedTuple):
    """A measurement of wrk: the number of responses, the seconds, the latency in ms, and the number of failures."""

    number: int
    seconds: float
    p99: float
    failed: int


class Wrk:
    """A running wrk that requests `url` on `connections` connections for `seconds` seconds."""

    def __init__(
        self,
        url: str,
        headers: Sequence[str] = (),
        script: str = "",
        *arguments: str,
        folder: Path,
        connections: int,
        seconds: int,
    ) -> None:
        file = folder / f"{time.monotonic_ns()}.lua"
        file.write_text(f"math.randomseed({time.monotonic_ns() % 2**31})\n{script}\n{_DONE}")
        command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "60s", "-s", str(file)]
        command += [part for header in headers for part in ("-H", header)]
        self._process = subprocess.Popen([*command, url, "--", *arguments], stdout=subprocess.PIPE, text=True)

    def responses(self, *, now: bool = False) -> Responses:
        """Return the measurement at the end of the time, or immediately if `now`."""
        if now:
            self._process.send_signal(signal.SIGINT)
        output = self._process.communicate()[0]
        assert self._process.returncode == 0, output
        return Responses(*json.loads(output.rpartition("\n")[2]))
