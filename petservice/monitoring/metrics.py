"""The Prometheus metrics. Each worker process counts in its own file, which outlives the process.

prometheus_client chooses this mode when it is imported. So petservice.monitoring.exporter creates the folder first, and
nothing may import this module earlier.
"""

import collections
from bisect import bisect_left
from collections.abc import Collection
from math import inf
from typing import Any

from prometheus_client import Counter, Gauge, Histogram

from petservice.monitoring.access_log import AccessRecord, shown_method
from petservice.monitoring.counters import take

# Seconds: the upper bounds of the buckets of durations.
_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, inf)


class DurationHistogram(Histogram):
    """A histogram that takes many observations at once, for much less CPU than as many calls of `observe`."""

    def add(self, durations: list[float]) -> None:
        """Add observations."""
        self._sum.inc(sum(durations))
        numbers = collections.Counter(bisect_left(_BOUNDS, duration) for duration in durations)
        for bucket, number in numbers.items():
            self._buckets[bucket].inc(number)


REQUESTS = Counter(
    "petservice_http_requests", "Finished requests by route, method and status.", ["route", "method", "status"]
)
DURATION = DurationHistogram(
    "petservice_http_request_duration_seconds",
    "Seconds from the end of the request headers to the end of the response.",
    ["route"],
    buckets=_BOUNDS,
)
FAST_PATH_REQUESTS = Counter("petservice_fast_path_requests", "Requests that the fast path answered.", ["operation"])
KEY_REQUESTS = Counter("petservice_key_requests", "Requests with a valid API key, by its prefix.", ["key"])
KEY_ERRORS = Counter("petservice_key_errors", "Those of them with a status of 400 or more.", ["key"])
# The counters of petservice.monitoring.counters, by their names there, each with its label and meaning.
COUNTERS = {
    name: Counter(f"petservice_{name}", meaning, [label])
    for name, label, meaning in (
        ("database_calls", "path", "Calls of the database."),
        ("database_seconds", "path", "Seconds in calls of the database, including waiting for a connection."),
        ("database_errors", "kind", "Calls of the database that failed."),
        ("database_connections_opened", "path", "Connections that were opened to the database."),
        ("queued", "pool", "Calls on a thread: requests, and checks by the service itself."),
        ("queue_seconds", "pool", "Seconds that these calls waited for a thread."),
        ("redis_failures", "call", "Failed calls of Redis, which let requests pass without their limit."),
        ("idempotent_requests", "outcome", "Requests with an Idempotency-Key."),
        ("refusals", "reason", "Refused requests and connections."),
        ("logins", "outcome", "Logins of staff."),
    )
}
# Labels of rare events, whose series begin with zero. Prometheus sees no increase in a series that begins with one.
_RARE = {
    "database_errors": ("timeout", "lock", "disk_full", "connection", "constraint", "other"),
    "redis_failures": ("count",),
    "logins": ("login_failed", "locked_out"),
}
# The gauges are sampled, and all counts written, once per second: an update at each change would slow requests.
DATABASE_BYTES = Gauge("petservice_database_bytes", "Size of the database.", multiprocess_mode="livemax")
DATABASE_CONNECTIONS = Gauge(
    "petservice_database_connections",
    "Connections of the PostgreSQL server: open, used by this service, and allowed.",
    ["state"],
    multiprocess_mode="livemax",
)
INVENTORY_DRIFT = Gauge(
    "petservice_inventory_drift",
    "Pets by which the counters of the inventory are wrong, by a count of all pets once an hour.",
    multiprocess_mode="livemax",
)
WORKERS = Gauge("petservice_workers", "Running worker processes.", multiprocess_mode="livesum")
READY = Gauge("petservice_ready", "1 if all workers are ready, as at /ready; otherwise 0.", multiprocess_mode="livemin")
CONNECTIONS = Gauge("petservice_connections", "Open client connections.", multiprocess_mode="livesum")
IN_FLIGHT = Gauge("petservice_http_requests_in_flight", "Requests in progress.", multiprocess_mode="livesum")
THREADS = Gauge("petservice_threads", "Maximum number of threads per pool.", ["pool"], multiprocess_mode="livesum")
THREADS_IN_USE = Gauge(
    "petservice_threads_in_use", "Threads that run a request.", ["pool"], multiprocess_mode="livesum"
)

# Maximum number of keys with series of their own in one worker. All further ones share the series `other`.
MAX_KEYS = 100


class Metrics:
    """The metrics of one worker process."""

    def __init__(self) -> None:
        # The seconds of the requests since the last write, by route, method, status, prefix of the API key and the fast
        # path's operation. Only the thread of the event loop uses them.
        self._durations: dict[tuple[str, str, int, str | None, str | None], list[float]] = collections.defaultdict(list)
        # The keys that have series of their own.
        self._keys: set[str] = set()
        take()  # what was counted before the fork belongs to the master
        for name, labels in _RARE.items():
            for label in labels:
                COUNTERS[name].labels(label)
        WORKERS.set(1)

    def count(self, record: AccessRecord, seconds: float) -> None:
        """Count one request, which took so long."""
        labels = record.route, record.method, record.status, record.key_prefix, record.fast_path_operation
        self._durations[labels].append(seconds)

    def sample(self, application: Any, connections: Collection[Any]) -> None:
        """Set the gauges to the current values of these objects of petservice.server, and add what was counted."""
        READY.set(application.watch_database())
        size, *numbers = application.database_state
        DATABASE_BYTES.set(size)
        for state, number in zip(("open", "used", "allowed"), numbers, strict=True):
            DATABASE_CONNECTIONS.labels(state).set(number)
        INVENTORY_DRIFT.set(application.inventory_drift)
        CONNECTIONS.set(len(connections))
        IN_FLIGHT.set(sum(connection.task is not None for connection in connections))
        for name, pool in application.pools.items():
            THREADS.labels(name).set(pool.size)
            THREADS_IN_USE.labels(name).set(pool.in_use)
        self.write_counts()

    def write_counts(self) -> None:
        """Add what was counted since the last call to the metrics."""
        for (route, method, status, key, operation), durations in self._durations.items():
            number = len(durations)
            REQUESTS.labels(route, shown_method(method), status).inc(number)
            DURATION.labels(route).add(durations)
            if operation is not None:
                FAST_PATH_REQUESTS.labels(operation).inc(number)
            if key is not None:
                self._count_of_key(key, status, number)
        self._durations.clear()
        for (name, label), amount in take().items():
            COUNTERS[name].labels(label).inc(amount)

    def _count_of_key(self, key: str, status: int, number: int) -> None:
        if len(self._keys) < MAX_KEYS:
            self._keys.add(key)
        shown = key if key in self._keys else "other"
        KEY_REQUESTS.labels(shown).inc(number)
        if status >= 400:
            KEY_ERRORS.labels(shown).inc(number)
