"""The CPU time and memory of the processes that a benchmark has started."""

from collections.abc import Iterator

import psutil


def processes(pid: int) -> list[psutil.Process]:
    """Return a process and all its descendants, such as workers or database backends."""
    return [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]


def cpu_seconds(*pids: int | None) -> float:
    """Return the CPU time of these processes and all their descendants, including those that have ended."""
    return sum(_cpu_times(*pids))


def _cpu_times(*pids: int | None) -> Iterator[float]:
    for process in (process for pid in pids if pid is not None for process in processes(pid)):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:  # its parent includes it in the time of ended children
            continue
        yield times.user + times.system + times.children_user + times.children_system


def memory(pid: int) -> float:
    """Return the proportional set size of a process and all its descendants, in MiB; shared memory counts once."""
    return sum(process.memory_full_info().pss for process in processes(pid)) / 2**20
