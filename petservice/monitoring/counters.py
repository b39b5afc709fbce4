"""Counters of what this process waits for, of what fails in it and of what it refuses. The metrics show them.

Every module may import this one. prometheus_client, in contrast, may be imported only where metrics are configured.
"""

from collections import defaultdict
from collections.abc import Mapping
from threading import Lock

_lock = Lock()
_amounts: defaultdict[tuple[str, str], float] = defaultdict(float)


def count(name: str, label: str, amount: float = 1) -> None:
    """Add to a counter of petservice.monitoring.metrics.COUNTERS. A label must have few different values."""
    with _lock:
        _amounts[name, label] += amount


def take() -> Mapping[tuple[str, str], float]:
    """Return what was counted since the last call, also by a process from which this one was forked since then."""
    with _lock:
        taken = dict(_amounts)
        _amounts.clear()
    return taken
