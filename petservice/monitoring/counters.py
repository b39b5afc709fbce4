"""Counters of causes: what this process waits for, what fails in it and what it refuses. The metrics show them.

Every module may import this one. prometheus_client, in contrast, may be imported only where metrics are configured.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from threading import Lock

_lock = Lock()
_amounts: defaultdict[tuple[str, str], float] = defaultdict(float)
_amounts_of_loop: defaultdict[tuple[str, str], float] = defaultdict(float)


def count(name: str, label: str, amount: float = 1) -> None:
    """Add to a counter of petservice.monitoring.metrics.CAUSES. A label must have few different values."""
    with _lock:
        _amounts[name, label] += amount


def count_on_loop(name: str, label: str, amount: float = 1) -> None:
    """Do the same on the thread of the event loop, without the lock, which costs more than all else here."""
    _amounts_of_loop[name, label] += amount


def take() -> Mapping[tuple[str, str], float]:
    """Return what was counted since the last call, also by a process from which this one was forked since then.

    Only the thread of the event loop may call it.
    """
    with _lock:
        taken = Counter(_amounts)
        _amounts.clear()
    taken.update(_amounts_of_loop)  # which adds
    _amounts_of_loop.clear()
    return taken
