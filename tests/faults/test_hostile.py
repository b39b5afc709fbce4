"""Many hostile clients leave nothing behind in the service."""

import shutil
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.benchmarks.processes import memory
from tests.faults.conftest import Outcome
from tests.faults.restores import NAME
from tests.server.connections import RESET, Client, get, post, response_to
from tests.server.services import service_with_test_endpoints
from tests.server.smuggling import Result
from tests.server.smuggling_rows import CORPUS
from tests.server.test_rejected_requests import UNBOUNDED
from tests.service import Service
from tests.waiting import wait_until

pytestmark = pytest.mark.faults

# The memory is compared after half of them. With the other half, a leak of 700 bytes for each is found.
MALFORMED = 12_000
HUGE = 100
CLIENTS = 2


@pytest.fixture(scope="module")
def with_short_timeout(tmp_path_factory: pytest.TempPathFactory, migrated: Path) -> Iterator[Service]:
    """A service that gives each request five seconds to arrive, because some are incomplete."""
    folder = tmp_path_factory.mktemp("hostile")
    shutil.copy(migrated, folder / NAME)
    with service_with_test_endpoints(folder, WEB_CONCURRENCY="2", TEST_REQUEST_TIMEOUT="5", DATABASE_URL="") as service:
        wait_until(lambda: len(service.workers()) == 2)
        yield service


@pytest.fixture(scope="module")
def key(with_short_timeout: Service) -> str:
    return with_short_timeout.create_key()


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
