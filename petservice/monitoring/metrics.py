"""The Prometheus metrics. Each worker process counts in its own file, which outlives the process.

prometheus_client chooses this mode when it is imported. So petservice.monitoring.exporter creates the folder first, and
nothing may import this module earlier.
"""

from collections.abc import Mapping
from typing import Any

from prometheus_client import Counter, Gauge, Histogram

REQUESTS = Counter(
    "petservice_http_requests", "Finished requests by route, method and status.", ["route", "method", "status"]
)
DURATION = Histogram(
    "petservice_http_request_duration_seconds",
    "Seconds from the end of the request headers to the end of the response.",
    ["route"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
# The other metrics are sampled once per second, because an update at each change would slow every request.
WORKERS = Gauge("petservice_workers", "Running worker processes.", multiprocess_mode="livesum")
READY = Gauge("petservice_ready", "1 if all workers are ready, as at /ready; otherwise 0.", multiprocess_mode="livemin")
CONNECTIONS = Gauge("petservice_connections", "Open client connections.", multiprocess_mode="livesum")
IN_FLIGHT = Gauge("petservice_http_requests_in_flight", "Requests in progress.", multiprocess_mode="livesum")
THREADS = Gauge("petservice_threads", "Maximum number of threads per pool.", ["pool"], multiprocess_mode="livesum")
THREADS_IN_USE = Gauge(
    "petservice_threads_in_use", "Threads that run a request.", ["pool"], multiprocess_mode="livesum"
)


class Metrics:
    """The metrics of one worker process."""

    def __init__(self) -> None:
        # A cache, because a lookup in the library costs as much as the count itself.
        self._series: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        WORKERS.set(1)

    def count(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count one request. `route` and `method` must have few different values."""
        series = self._series.get((route, method, status))
        if series is None:
            series = REQUESTS.labels(route, method, status), DURATION.labels(route)
            self._series[route, method, status] = series
        series[0].inc()
        series[1].observe(seconds)

    def sample(
        self,
        *,
        is_ready: bool,
        connections: int,
        in_flight: int,
        threads: Mapping[str, Any],
    ) -> None:
        """Set the gauges to the current values. The pools are those of petservice.server."""
        READY.set(is_ready)
        CONNECTIONS.set(connections)
        IN_FLIGHT.set(in_flight)
        for name, pool in threads.items():
            THREADS.labels(name).set(pool.size)
            THREADS_IN_USE.labels(name).set(pool.in_use)
