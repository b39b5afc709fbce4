"""The service with the endpoints for tests, and what a test asks of its workers."""

import re
from contextlib import AbstractContextManager
from pathlib import Path

from tests.server.connections import Client, get
from tests.service import Service, running_service

# What the log says once a service has begun to drain.
DRAINING = "Draining: /ready returns 503"
RUN_WITH_TEST_ENDPOINTS = ("-m", "tests.server.run_with_endpoints")


def service_with_test_endpoints(folder: Path, *options: str, **variables: str) -> AbstractContextManager[Service]:
    """In one worker process; the endpoints leave and look for files in `folder`."""
    variables = {"TEST_ENDPOINTS_FOLDER": str(folder), "WEB_CONCURRENCY": "1", **variables}
    return running_service(folder, command=(*RUN_WITH_TEST_ENDPOINTS, *options), **variables)


def asked(client: Client, path: str) -> int:
    """The number with which the worker that has the client's connection responds."""
    client.send(get(path))
    return int(client.answer().body)


def open_connections(client: Client) -> int:
    """How many connections the client's worker has."""
    return asked(client, "/v1/open")


def worker_of(client: Client) -> int:
    """The process id of the worker that has the client's connection."""
    return asked(client, "/v1/worker")


def workers(service: Service) -> list[int]:
    return [int(pid) for pid in re.findall(r"Booting worker with pid: (\d+)", service.log.read_text())]


def held(folder: Path) -> int:
    return len(list(folder.glob("held-*")))


def release(folder: Path) -> None:
    (folder / "released").touch()


def clear(folder: Path) -> None:
    """Remove what earlier tests have left for the endpoints."""
    for name in ("held-*", "released", "begun"):
        for path in folder.glob(name):
            path.unlink()
