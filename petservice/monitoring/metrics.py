"""What is counted, for Prometheus. Each worker process counts in a file of its own, which outlives it.

The library decides at its import that it does so: petservice.monitoring.exporter makes the folder first, and nothing
else may import this before.
"""

from prometheus_client import Counter, Gauge, Histogram

# How many there may be, and how many are in use, by name.
Used = dict[str, tuple[int, int]]

REQUESTS = Counter(
    "petservice_http_requests", "Requests that have ended, by what became of them.", ["route", "method", "status"]
)
DURATION = Histogram(
    "petservice_http_request_duration_seconds",
    "From the end of a request's headers to the end of its answer.",
    ["route"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
# The rest is looked at once a second: to write it down at each change would cost every request.
WORKERS = Gauge("petservice_workers", "Worker processes that run.", multiprocess_mode="livesum")
CONNECTIONS = Gauge("petservice_connections", "Open connections of clients.", multiprocess_mode="livesum")
IN_FLIGHT = Gauge("petservice_http_requests_in_flight", "Requests being answered.", multiprocess_mode="livesum")
LANES = Gauge(
    "petservice_lanes",
    "Calls of the API that can run at a time; on PostgreSQL each has a connection.",
    ["lanes"],
    multiprocess_mode="livesum",
)
LANES_IN_USE = Gauge(
    "petservice_lanes_in_use", "Calls of the API that run or wait.", ["lanes"], multiprocess_mode="livesum"
)
THREADS = Gauge(
    "petservice_threads", "Threads that there may be, by what they do.", ["threads"], multiprocess_mode="livesum"
)
THREADS_BUSY = Gauge("petservice_threads_busy", "Threads that are at work.", ["threads"], multiprocess_mode="livesum")


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

    def look(self, *, connections: int, in_flight: int, lanes: Used, threads: Used) -> None:
        """Write down what is going on now."""
        CONNECTIONS.set(connections)
        IN_FLIGHT.set(in_flight)
        for name, (number, in_use) in lanes.items():
            LANES.labels(name).set(number)
            LANES_IN_USE.labels(name).set(in_use)
        for name, (number, busy) in threads.items():
            THREADS.labels(name).set(number)
            THREADS_BUSY.labels(name).set(busy)
