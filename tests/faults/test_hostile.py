"""Many slow or hostile clients neither delay other clients nor leave anything behind in the service."""

import re
import shutil
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from petservice.server.gunicorn_conf import keepalive
from petservice.server.protocol import REQUEST_TIMEOUT
from tests.benchmarks.processes import memory
from tests.faults.conftest import Outcome
from tests.faults.restores import NAME
from tests.faults.slow_clients import SlowClient, slow_clients, watched
from tests.server.connections import RESET, Client, get, post, response_to
from tests.server.services import service_with_test_endpoints
from tests.server.smuggling import Result
from tests.server.smuggling_rows import CORPUS
from tests.server.test_rejected_requests import UNBOUNDED
from tests.service import Service, running_service
from tests.waiting import wait_until

pytestmark = pytest.mark.faults

SLOW_CLIENTS = 200
SHORT_TIMEOUT = 5
# The memory is compared after half of them. With the other half, a leak of 700 bytes for each is found.
MALFORMED = 12_000
HUGE = 100
CLIENTS = 2


@pytest.fixture(scope="module")
def with_short_timeout(tmp_path_factory: pytest.TempPathFactory, migrated: Path) -> Iterator[Service]:
    """A service that gives each request five seconds to arrive."""
    folder = tmp_path_factory.mktemp("hostile")
    shutil.copy(migrated, folder / NAME)
    with service_with_test_endpoints(
        folder, WEB_CONCURRENCY="2", TEST_REQUEST_TIMEOUT=str(SHORT_TIMEOUT), DATABASE_URL=""
    ) as service:
        wait_until(lambda: len(service.workers()) == 2)
        yield service


@pytest.fixture(scope="module")
def key(with_short_timeout: Service) -> str:
    return with_short_timeout.create_key()


# Slow clients.


def p99(service: Service, key: str) -> tuple[float, list[str]]:
    """Return the p99 latency of four clients in milliseconds, and their error responses."""
    waits: list[float] = []
    failures: list[str] = []

    def use(_: int) -> None:
        requests = (
            post(key, b'{"name":"Rex"}'),
            get("/v1/pets?limit=1", f"X-API-Key: {key}".encode()),
            get("/v1/health"),
        )
        for _ in range(50):
            with Client(service) as client:
                for request in requests:
                    began = time.perf_counter()
                    client.send(request)
                    response = client.response()
                    waits.append(1000 * (time.perf_counter() - began))
                    if response.status not in (200, 201):
                        failures.append(f"{response.status} {response.body!r}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(use, range(4)))
    return sorted(waits)[len(waits) * 99 // 100], failures


def test_slow_clients_do_not_delay_others_and_are_disconnected(
    with_short_timeout: Service, key: str, report: Callable[[Outcome], None]
) -> None:
    without_them, failures = p99(with_short_timeout, key)
    with slow_clients(with_short_timeout, key, SLOW_CLIENTS) as slow:
        with_them, more_failures = p99(with_short_timeout, key)
        wait_until(lambda: all(client.lasted is not None for client in slow), seconds=60)
    for client in slow:
        assert_disconnected(client, SHORT_TIMEOUT)
    failures += more_failures
    lasted = sorted(client.lasted for client in slow if client.lasted is not None)
    saw = f"p99 {without_them:.0f} ms without them, {with_them:.0f} ms with them"
    saw += f"; the last was disconnected after {lasted[-1]:.1f} s"
    report(Outcome(f"{SLOW_CLIENTS} slow clients", SLOW_CLIENTS, saw, len(failures)))
    assert with_them < 1000, "milliseconds"


def assert_disconnected(client: SlowClient, timeout: int) -> None:
    """Assert that the client got an error response or nothing before the service ended its connection in time."""
    assert client.received == b"" or re.match(rb"HTTP/1.1 4\d\d ", client.received), client.received
    assert client.received.count(b"HTTP/1.1 ") <= 1
    assert client.lasted is not None
    # A service on a busy machine may be late, but less than the difference to its other timeouts.
    assert client.lasted < 2 * timeout + 5
    # The service does not wait for the rest of a request without a key.
    if not client.received.startswith(b"HTTP/1.1 401 "):
        assert client.lasted >= timeout


def test_request_and_idle_connection_end_after_their_timeouts(tmp_path: Path, sqlite_url: str) -> None:
    with (
        running_service(tmp_path, DATABASE_URL=sqlite_url) as service,
        SlowClient(service) as slow,
        SlowClient(service) as keep_alive,
    ):
        slow.send(b"GET /v1/health HTTP/1.1\r\nHost: loc")
        keep_alive.send(get("/v1/health"))
        with watched([slow, keep_alive]):
            wait_until(lambda: slow.lasted is not None and keep_alive.lasted is not None, seconds=60)

    assert_disconnected(slow, REQUEST_TIMEOUT)
    assert keep_alive.received.startswith(b"HTTP/1.1 200 ")
    assert keep_alive.received.count(b"HTTP/1.1 ") == 1
    assert keep_alive.lasted is not None
    assert keepalive <= keep_alive.lasted < 2 * keepalive


# Hostile clients.

REJECTED = [
    *(row.request for row in CORPUS if row.result is Result.REJECTED),
    *UNBOUNDED.values(),
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"x" * 200 + b"\r\n\r\n",  # TLS
]


def ten_megabytes(key: str) -> bytes:
    return post(key, b"x" * 10 * 2**20)


def is_rejected(service: Service, request: bytes) -> bool:
    """Return whether the service responds with a 4xx or ends the connection without a response."""
    with Client(service) as client:
        # Close by a reset, so that no port stays reserved for the ended connection.
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        try:
            client.send(request)
            received = b"".join(iter(lambda: client.socket.recv(65536), b""))
        except (ConnectionResetError, BrokenPipeError):
            return True
    return received.startswith(b"HTTP/1.1 4") and received.count(b"HTTP/1.1 ") == 1


def test_malformed_requests_leave_nothing_behind(
    with_short_timeout: Service, key: str, report: Callable[[Outcome], None]
) -> None:
    before = with_short_timeout.workers()
    huge = [ten_megabytes(key)] * (HUGE // 10 // CLIENTS)
    sizes = []
    rejected = 0
    with ThreadPoolExecutor(CLIENTS) as pool:
        for tenth in range(10):
            numbers = range(tenth * MALFORMED // 10, (tenth + 1) * MALFORMED // 10)
            parts = [
                [*huge, *(REJECTED[number % len(REJECTED)] for number in numbers[client::CLIENTS])]
                for client in range(CLIENTS)
            ]
            rejected += sum(
                pool.map(lambda part: sum(is_rejected(with_short_timeout, request) for request in part), parts)
            )
            sizes.append(sum(map(memory, with_short_timeout.workers())))
    healthy = response_to(with_short_timeout, get("/v1/health")).status == 200
    # The heaps grow in a few steps to the size that the largest requests need; the first half includes these steps.
    half = sizes[4]
    grown = sizes[-1] - half
    saw = f"{rejected} rejected; memory of all workers {sizes[0]:.1f} MiB after a tenth of them, {half:.1f} after half"
    saw += f", {sizes[-1]:.1f} at the end"
    report(Outcome("malformed requests", MALFORMED + HUGE, saw, MALFORMED + HUGE - rejected))
    assert healthy
    assert with_short_timeout.workers() == before
    assert grown < 4, f"MiB after each tenth: {sizes}"
    wait_until(lambda: "Traceback" not in with_short_timeout.log.read_text(), seconds=0.1)
