"""The machine of a benchmark, and the CPU time and memory of the processes that it has started."""

import os
import platform
import re
from contextlib import suppress
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import psutil


def conditions(*packages: str) -> str:
    """Return the date, the machine, and the versions of Python and of packages, for the caption of a table."""
    processor, *_ = *re.findall(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text()), platform.machine()
    versions = [f"Python {platform.python_version()}", *(f"{name} {version(name)}" for name in packages)]
    return f"{datetime.now(UTC):%Y-%m-%d}, {processor}, {os.cpu_count()} cores, {', '.join(versions)}"


def processes(pid: int) -> list[psutil.Process]:
    """Return a process and all its descendants, such as workers or database backends."""
    return [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]


def cpu_seconds(*pids: int | None) -> float:
    """Return the CPU time of these processes and all their descendants, including those that have ended."""
    seconds = 0.0
    for process in (process for pid in pids if pid is not None for process in processes(pid)):
        with suppress(psutil.NoSuchProcess):  # its parent includes it in the time of ended children
            times = process.cpu_times()
            seconds += times.user + times.system + times.children_user + times.children_system
    return seconds


def memory(pid: int) -> float:
    """Return the proportional set size of a process and all its descendants, in MiB; shared memory counts once."""
    return sum(process.memory_full_info().pss for process in processes(pid)) / 2**20
