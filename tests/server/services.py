"""Start services with the endpoints for tests, and query their workers."""

import json
import os
import re
import signal
import socket
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from tests.server.connections import Client, get
from tests.service import Service, running_service

# The log message of a service that begins to drain.
DRAINING = "Draining: /ready returns 503"
RUN_WITH_TEST_ENDPOINTS = ("-m", "tests.server.run_with_endpoints")


def service_with_test_endpoints(folder: Path, *options: str, **variables: str) -> AbstractContextManager[Service]:
    """Run a service with one worker and the endpoints for tests, which use files in `folder`."""
    variables = {"TEST_ENDPOINTS_FOLDER": str(folder), "WEB_CONCURRENCY": "1", **variables}
    return running_service(folder, command=(*RUN_WITH_TEST_ENDPOINTS, *options), **variables)


def meta_of(client: socket.socket, *headers: bytes) -> dict[str, Any]:
    """Return the META of a request with these headers, which is the last one of its connection."""
    client.sendall(get("/v1/meta", *headers, b"Connection: close"))
    received = b"".join(iter(lambda: client.recv(65536), b""))
    client.close()
    meta: dict[str, Any] = json.loads(received.partition(b"\r\n\r\n")[2])
    return meta


def number_from(client: Client, path: str) -> int:
    """Return the number that an endpoint of the client's worker responds with."""
    return int(client.response_to(get(path)).body)


def open_connections(client: Client) -> int:
    """Return the number of open connections of the client's worker."""
    return number_from(client, "/v1/open")


def worker_of(client: Client) -> int:
    """Return the process id of the worker that serves the client's connection."""
    return number_from(client, "/v1/worker")


def booted_workers(service: Service) -> list[int]:
    """Return the process ids of all workers that have booted, in this order, from the log."""
    return [int(pid) for pid in re.findall(r"Booting worker with pid: (\d+)", service.log.read_text())]


@contextmanager
def suspended(worker: int) -> Iterator[None]:
    """Suspend a worker until the end of the block."""
    os.kill(worker, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(worker, signal.SIGCONT)


def held_requests(folder: Path) -> int:
    return len(list(folder.glob("held-*")))


def release(folder: Path) -> None:
    (folder / "released").touch()


def clear(folder: Path) -> None:
    """Delete the files that earlier tests and their endpoints have left."""
    for name in ("held-*", "released", "begun"):
        for path in folder.glob(name):
            path.unlink()
