"""Run a service that writes a JSON log and metrics, and read both."""

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from prometheus_client.parser import text_string_to_metric_families

from tests.databases import migrated_database_url
from tests.service import Service, fetch, free_port, running_service, stopped_service
from tests.waiting import wait_until

# Method, route and status of a request.
Seen = tuple[str, str, int]


@dataclass(frozen=True)
class Observed:
    """A running service with one of its API keys and the URL of its metrics."""

    service: Service
    key: str
    metrics_url: str

    def lines(self) -> list[dict[str, Any]]:
        """Return every log line as an object, and fail if a line is not JSON."""
        text = self.service.log.read_text()
        complete = text[: text.rfind("\n")]  # the last line may be incomplete
        assert complete.splitlines() == complete.split("\n")
        return [json.loads(line) for line in complete.split("\n")]

    def requests(self) -> list[dict[str, Any]]:
        return [line for line in self.lines() if line["logger"] == "petservice.requests"]

    def logged(self) -> Counter[Seen]:
        return Counter((line["method"], line["route"], line["status"]) for line in self.requests())

    def samples(self) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
        """Return the value of each time series by its name and labels."""
        response = fetch(self.metrics_url)
        assert response.status_code == 200
        return {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(response.text)
            for sample in family.samples
        }

    def sample(self, name: str, **labels: str) -> float:
        return self.samples().get((name, frozenset(labels.items())), 0)

    def counted(self) -> Counter[Seen]:
        counted: Counter[Seen] = Counter()
        for (name, labels), value in self.samples().items():
            if name == "petservice_http_requests_total":
                of = dict(labels)
                counted[of["method"], of["route"], int(of["status"])] += int(value)
        return counted


@contextmanager
def observed_service(folder: Path, *, metrics_port: int | None = None, **variables: Any) -> Iterator[Observed]:
    """Run a service with two workers and a database of its own.

    The API key exists before the start, so the service never prints it.
    """
    port = metrics_port or free_port()
    with migrated_database_url(folder) as url:
        variables = {
            "DATABASE_URL": url,
            "WEB_CONCURRENCY": "2",
            "PETSERVICE_LOG_FORMAT": "json",
            "METRICS_BIND": f"127.0.0.1:{port}",
        } | variables
        key = stopped_service(folder, url).create_key()
        with running_service(folder, **variables) as service:
            observed = Observed(service, key, f"http://127.0.0.1:{port}/metrics")
            # A request is counted and logged shortly after its response, and this one must not appear during a test.
            wait_until(lambda: observed.logged()["GET", "/v1/health", 200])
            yield observed


def folders_of(metrics_url: str) -> list[Path]:
    """Return the folders of the counters of services that have, or had, their metrics at this URL."""
    host, port = urlsplit(metrics_url).netloc.split(":")
    return list(Path("/dev/shm").glob(f"petservice-metrics-{host}-{port}*"))
