"""What is counted, for Prometheus. Each worker process counts in a file of its own, which outlives it.

The library decides at its import that it does so: petservice.monitoring.exporter makes the folder first, and nothing
else may import this before.
"""

from collections.abc import Mapping
from typing import Protocol

from prometheus_client import Counter, Gauge, Histogram


class Pool(Protocol):
    """A number of greenlets or threads, of which some are in use."""

    @property
    def size(self) -> int: ...

    @property
    def in_use(self) -> int: ...


REQUESTS = Counter(
    "petservice_http_requests", "Requests that have ended, by what became of them.", ["route", "method", "status"]
)
DURATION = Histogram(
    "petservice_http_request_duration_seconds",
    "From the end of a request's headers to the end of its answer.",
    ["route"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
# The rest is sampled once a second: to write it down at each change would cost every request.
WORKERS = Gauge("petservice_workers", "Worker processes that run.", multiprocess_mode="livesum")
CONNECTIONS = Gauge("petservice_connections", "Open connections of clients.", multiprocess_mode="livesum")
IN_FLIGHT = Gauge("petservice_http_requests_in_flight", "Requests being answered.", multiprocess_mode="livesum")
API_CONCURRENCY = Gauge(
    "petservice_api_concurrency",
    "Calls of the API that can run at a time; on PostgreSQL each has a connection.",
    ["pool"],
    multiprocess_mode="livesum",
)
API_CONCURRENCY_IN_USE = Gauge(
    "petservice_api_concurrency_in_use", "Calls of the API that run or wait.", ["pool"], multiprocess_mode="livesum"
)
THREADS = Gauge(
    "petservice_threads", "Threads that there may be, by what they do.", ["pool"], multiprocess_mode="livesum"
)
THREADS_IN_USE = Gauge("petservice_threads_in_use", "Threads that run a call.", ["pool"], multiprocess_mode="livesum")


class Metrics:
    """The metrics of one worker process."""

    def __init__(self) -> None:
        # Looking a series up in the library costs as much as counting in it.
        self._series: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        WORKERS.set(1)

    def count(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count one request. The route and the method are one of a few, whatever clients send."""
        series = self._series.get((route, method, status))
        if series is None:
            series = REQUESTS.labels(route, method, status), DURATION.labels(route)
            self._series[route, method, status] = series
        series[0].inc()
        series[1].observe(seconds)

    def sample(
        self, *, connections: int, in_flight: int, greenlets: Mapping[str, Pool], threads: Mapping[str, Pool]
    ) -> None:
        """Write down what is going on now."""
        CONNECTIONS.set(connections)
        IN_FLIGHT.set(in_flight)
        for name, pool in greenlets.items():
            API_CONCURRENCY.labels(name).set(pool.size)
            API_CONCURRENCY_IN_USE.labels(name).set(pool.in_use)
        for name, pool in threads.items():
            THREADS.labels(name).set(pool.size)
            THREADS_IN_USE.labels(name).set(pool.in_use)
