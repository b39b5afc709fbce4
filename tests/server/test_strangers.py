"""No client can take the memory or the connections that others need, nor keep a new one waiting."""

import gc
import re
import socket
import statistics
import subprocess
import sys
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from django.contrib.sessions.backends.db import SessionStore

from petservice.server.limits import MAX_CONNECTIONS_OF_ADDRESS
from tests.server.connections import Client, Connect, get, request_of
from tests.server.services import open_connections, service_with_test_endpoints
from tests.service import ROOT, Service, running_service
from tests.waiting import wait_until

pytestmark = pytest.mark.once(on="postgresql")


def test_request_of_a_page_is_freed_without_the_garbage_collector() -> None:
    request = request_of("/admin/")
    stored = request.session = SessionStore()  # type: ignore[assignment]
    stored.request = request  # type: ignore[attr-defined]
    is_alive = weakref.ref(stored)
    gc.disable()
    try:
        request.release()
        del request, stored
        assert is_alive() is None
    finally:
        gc.enable()


def test_connections_of_an_address_are_limited(tmp_path: Path, migrated_url: str, connect: Connect) -> None:
    variables = {"DATABASE_URL": migrated_url, "FORWARDED_ALLOW_IPS": "192.0.2.1"}
    with service_with_test_endpoints(tmp_path, "--bind", "[::]:0", **variables) as service:
        (port_of_both,) = re.findall(r"http://\[::\]:(\d+)", service.log.read_text())
        on_both = replace(service, url=f"http://127.0.0.1:{port_of_both}")  # where an IPv4 peer is ::ffff:127.0.0.1
        half = MAX_CONNECTIONS_OF_ADDRESS // 2
        held = [connect(on_both) for _ in range(half)]
        held += [connect(service) for _ in range(MAX_CONNECTIONS_OF_ADDRESS - half)]
        wait_until(lambda: open_connections(held[0]) == MAX_CONNECTIONS_OF_ADDRESS)
        rejected = connect(service)
        rejected.socket.settimeout(5)  # less than the timeout of a silent connection
        assert rejected.is_closed()

        other = connect(service)
        other.socket.close()
        port = int(service.url.rpartition(":")[2])
        other.socket = socket.create_connection(("127.0.0.1", port), timeout=30, source_address=("127.0.0.2", 0))
        other.send(get("/v1/health"))
        assert other.response().status == 200

        held.pop().socket.close()
        other.send(get("/v1/health"))
        other.response()
        again = connect(service)
        again.send(get("/v1/health"))
        assert again.response().status == 200


@contextmanager
def busy_connections(service: Service, key: str, number: int) -> Iterator[list[float]]:
    """Let connections of one key repeat a request without pause; at the end, append their median time in seconds."""
    port = service.url.rpartition(":")[2]
    program = [sys.executable, "-m", "tests.server.busy_client", port, key, str(number)]
    medians: list[float] = []
    with subprocess.Popen(program, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "All are connected.\n"
        yield medians
        printed, _ = process.communicate()
        medians.append(float(printed))


def test_new_client_does_not_wait_for_busy_connections_of_another_key(tmp_path: Path, migrated_url: str) -> None:
    with running_service(tmp_path, DATABASE_URL=migrated_url, WEB_CONCURRENCY="1") as service:
        busy, new = service.create_key(), service.create_key()
        requests = (get("/v1/pets?limit=1", f"X-API-Key: {new}".encode()), get("/v1/health"))
        waits: list[float] = []
        with busy_connections(service, busy, 450) as medians:
            for request in requests * 5:
                began = time.monotonic()
                with Client(service) as client:
                    client.send(request)
                    assert client.response().status == 200
                waits.append(time.monotonic() - began)

    assert statistics.median(waits) < 10 * medians[0], f"{waits}, and {medians[0]} seconds of the busy ones"
