"""Slow and hostile clients, many at once: others do not feel them, and nothing of them stays."""

import re
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from petservice.server.gunicorn_conf import keepalive
from petservice.server.protocol import REQUEST_TIMEOUT
from tests.faults.conftest import Outcome
from tests.faults.slow_clients import SlowClient, slow_clients, watched
from tests.faults.test_kill import workers
from tests.server.connections import Client, get, post
from tests.server.services import service_with_test_endpoints
from tests.server.smuggling import Result
from tests.server.smuggling_rows import CORPUS
from tests.server.test_rejected_requests import UNBOUNDED
from tests.service import Service, running_service
from tests.waiting import wait_until

pytestmark = pytest.mark.faults

SLOW = 200
DEADLINE = 5
MALFORMED = 100_000
HUGE = 100
CLIENTS = 2


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """The service with a short deadline for requests."""
    folder = tmp_path_factory.mktemp("hostile")
    with service_with_test_endpoints(
        folder, WEB_CONCURRENCY="2", TEST_REQUEST_TIMEOUT=str(DEADLINE), DATABASE_URL=""
    ) as service:
        service.manage("migrate", "--verbosity", "0")
        yield service


@pytest.fixture(scope="module")
def key(impatient: Service) -> str:
    return impatient.create_key()


# Slow ones.


def p99(service: Service, key: str) -> tuple[float, list[str]]:
    """Milliseconds that 99 of 100 requests of four clients take at most, and the answers that were failures."""
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
                    answer = client.answer()
                    waits.append(1000 * (time.perf_counter() - began))
                    if answer.status not in (200, 201):
                        failures.append(f"{answer.status} {answer.body!r}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(use, range(4)))
    return sorted(waits)[len(waits) * 99 // 100], failures


def test_slow_clients_are_not_felt_by_others_and_are_cut_off(
    impatient: Service, key: str, report: Callable[[Outcome], None]
) -> None:
    without, failures = p99(impatient, key)
    with slow_clients(impatient, key, SLOW) as slow:
        among, more_failures = p99(impatient, key)
        wait_until(lambda: all(client.lasted is not None for client in slow), seconds=60)
    for client in slow:
        assert_cut_off(client, DEADLINE)
    failures += more_failures
    lasted = sorted(client.lasted for client in slow if client.lasted is not None)
    saw = f"p99 {without:.0f} ms without them, {among:.0f} ms among them; the last was cut off after {lasted[-1]:.1f} s"
    report(Outcome(f"{SLOW} slow clients", SLOW, saw, len(failures)))
    assert among < 1000, "milliseconds"


def assert_cut_off(client: SlowClient, deadline: int) -> None:
    """The client has got a refusal or nothing, and then the end of the connection, by its deadline."""
    assert client.received == b"" or re.match(rb"HTTP/1.1 4\d\d ", client.received), client.received
    assert client.received.count(b"HTTP/1.1 ") <= 1
    assert client.lasted is not None
    # A service that is late on a busy machine is still far from another deadline.
    assert client.lasted < 2 * deadline + 5
    # Without a key there is nothing to wait for.
    if not client.received.startswith(b"HTTP/1.1 401 "):
        assert client.lasted >= deadline


def test_request_and_idle_connection_end_after_their_timeouts(tmp_path: Path) -> None:
    with (
        running_service(tmp_path, DATABASE_URL="") as service,
        SlowClient(service) as slow,
        SlowClient(service) as kept,
    ):
        slow.send(b"GET /v1/health HTTP/1.1\r\nHost: loc")
        kept.send(get("/v1/health"))
        with watched([slow, kept]):
            wait_until(lambda: slow.lasted is not None and kept.lasted is not None, seconds=60)

    assert_cut_off(slow, REQUEST_TIMEOUT)
    assert kept.received.startswith(b"HTTP/1.1 200 ")
    assert kept.received.count(b"HTTP/1.1 ") == 1
    assert kept.lasted is not None
    assert keepalive <= kept.lasted < 2 * keepalive


# Hostile ones.

REFUSED = [
    *(row.request for row in CORPUS if row.result is Result.REFUSED),
    *UNBOUNDED.values(),
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"x" * 200 + b"\r\n\r\n",  # TLS
]


def test_huge_bodies_are_refused(impatient: Service, key: str) -> None:
    before = workers(impatient)
    with ThreadPoolExecutor(10) as pool:
        statuses = list(pool.map(lambda _: _refusal_of_ten_megabytes(impatient, key), range(20)))
    assert statuses == [400] * 20
    assert workers(impatient) == before


def _refusal_of_ten_megabytes(service: Service, key: str) -> int:
    with Client(service) as client:
        client.send(ten_megabytes(key))
        return client.answer().status


def ten_megabytes(key: str) -> bytes:
    return post(key, b"x" * 10 * 2**20)


def is_refused(service: Service, request: bytes) -> bool:
    """Whether the answer is a 4xx, or an end of the connection without one."""
    with Client(service) as client:
        # No port stays reserved for a connection that has ended.
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        try:
            client.send(request)
            received = b"".join(iter(lambda: client.socket.recv(65536), b""))
        except (ConnectionResetError, BrokenPipeError):
            return True
    return received.startswith(b"HTTP/1.1 4") and received.count(b"HTTP/1.1 ") == 1


def memory(service: Service) -> float:
    """MiB that the workers have for themselves."""
    files = (Path(f"/proc/{pid}/smaps_rollup").read_text() for pid in workers(service))
    return sum(int(re.findall(r"Pss:\s+(\d+)", file)[0]) for file in files) / 1024


def test_malformed_requests_leave_nothing_behind(
    impatient: Service, key: str, report: Callable[[Outcome], None]
) -> None:
    before = workers(impatient)
    huge = [ten_megabytes(key)] * (HUGE // 10 // CLIENTS)
    sizes = []
    refused = 0
    with ThreadPoolExecutor(CLIENTS) as pool:
        for tenth in range(10):
            numbers = range(tenth * MALFORMED // 10, (tenth + 1) * MALFORMED // 10)
            shares = [
                [*huge, *(REFUSED[number % len(REFUSED)] for number in numbers[client::CLIENTS])]
                for client in range(CLIENTS)
            ]
            refused += sum(pool.map(lambda share: sum(is_refused(impatient, request) for request in share), shares))
            sizes.append(memory(impatient))
    with Client(impatient) as client:
        client.send(get("/v1/health"))
        healthy = client.answer().status == 200
    # Until then the workers' heaps grow, in a few steps, to what the largest of these need in the worst order.
    half = sizes[4]
    grown = sizes[-1] - half
    saw = f"{refused} refused; memory of all workers {sizes[0]:.1f} MiB after a tenth of them, {half:.1f} after half"
    saw += f", {sizes[-1]:.1f} at the end"
    report(Outcome("malformed requests", MALFORMED + HUGE, saw, MALFORMED + HUGE - refused))
    assert healthy
    assert workers(impatient) == before
    assert grown < 10, f"MiB after each tenth: {sizes}"
    wait_until(lambda: "Traceback" not in impatient.log.read_text(), seconds=0.1)
