"""CPU and memory of the processes that a benchmark has started."""

import os
import re
import subprocess
from contextlib import suppress
from pathlib import Path

from tests.benchmarks.service import Service

TICKS = os.sysconf("SC_CLK_TCK")


def processes(*masters: int) -> list[int]:
    """These processes and their children: the service's workers, a database server's backends."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid="], check=True, stdout=subprocess.PIPE, text=True).stdout
    pairs = [tuple(map(int, line.split())) for line in listed.splitlines()]
    return [pid for pid, parent in pairs if pid in masters or parent in masters]


def cpu(*masters: int) -> dict[int, float]:
    """Seconds of CPU that each of these processes and their children has taken."""
    taken = {}
    for pid in processes(*masters):
        with suppress(FileNotFoundError, ProcessLookupError):  # PostgreSQL's helpers come and go
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            taken[pid] = (int(fields[11]) + int(fields[12])) / TICKS
    return taken


def machine_time() -> list[int]:
    """What the machine's CPUs have done since its start, in ticks, in the order of proc(5)."""
    return [int(number) for number in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]


def proportional_size(service: Service) -> float:
    """MiB of memory; what processes share counts once."""
    files = (Path(f"/proc/{pid}/smaps_rollup").read_text() for pid in processes(service.process.pid))
    return sum(int(found[1]) for text in files if (found := re.search(r"^Pss: +(\d+) kB", text, re.M))) / 1024
