"""The CPU time and memory of the processes that a benchmark has started."""

import os
import re
import subprocess
from contextlib import suppress
from pathlib import Path

from tests.benchmarks.service import Service

TICKS = os.sysconf("SC_CLK_TCK")


def processes(*masters: int) -> list[int]:
    """Return the ids of these processes and their children, such as workers or database backends."""
    listed = subprocess.run(["ps", "-eo", "pid=,ppid="], check=True, stdout=subprocess.PIPE, text=True).stdout
    pairs = [tuple(map(int, line.split())) for line in listed.splitlines()]
    return [pid for pid, parent in pairs if pid in masters or parent in masters]


def cpu(*masters: int) -> dict[int, float]:
    """Return the CPU time in seconds of each of these processes and their children."""
    taken = {}
    for pid in processes(*masters):
        with suppress(FileNotFoundError, ProcessLookupError):  # the process has ended, as those of PostgreSQL often do
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            taken[pid] = (int(fields[11]) + int(fields[12])) / TICKS
    return taken


def machine_time() -> list[int]:
    """Return the CPU time of the machine since its start by category, in ticks and in the order of proc(5)."""
    return [int(number) for number in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]


def proportional_size(service: Service) -> float:
    """Return the memory of all processes of the service in MiB; shared memory counts once."""
    files = (Path(f"/proc/{pid}/smaps_rollup").read_text() for pid in processes(service.process.pid))
    return sum(int(found[1]) for text in files if (found := re.search(r"^Pss: +(\d+) kB", text, re.M))) / 1024
