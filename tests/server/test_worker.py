"""Requests that wait, fail or block their worker."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from petservice.server.limits import THREADS
from tests.contract.test_table import assert_failure
from tests.monitoring.observed import Observed
from tests.server.connections import Client, Connect, get, response_to
from tests.server.services import (
    booted_workers,
    clear,
    held_requests,
    number_from,
    open_connections,
    release,
    service_with_test_endpoints,
)
from tests.service import Service
from tests.waiting import wait_until

pytestmark = pytest.mark.once(on="postgresql")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with service_with_test_endpoints(tmp_path_factory.mktemp("default-timeout")) as service:
        yield service


@pytest.fixture
def with_default_timeout(running: Service) -> Service:
    """A service with its default timeout for requests, which no test waits for."""
    clear(running.log.parent)
    return running


def test_waiting_requests_block_no_other_pool_and_no_health(with_default_timeout: Service, connect: Connect) -> None:
    folder = with_default_timeout.log.parent
    clients = [connect(with_default_timeout) for _ in range(16)]
    for client in clients[:8]:
        client.send(get("/held"))
    wait_until(lambda: held_requests(folder) == THREADS["pages"])

    with Client(with_default_timeout) as other:
        for path, status in (("/v1/health", 200), ("/v1/meta", 200), ("/ready", 503)):
            assert other.response_to(get(path)).status == status, f"{path}; the database is not migrated"
        for client in clients[8:]:
            client.send(get("/v1/held"))
        wait_until(lambda: held_requests(folder) == THREADS["pages"] + THREADS["api"])
        assert other.response_to(get("/v1/health?unusual", method="HEAD"), to_head=True).status == 200

    release(folder)
    assert [client.response().status for client in clients] == [200] * 16


@pytest.mark.parametrize("path", ["/v1/crash", "/breaking-export"])
def test_failed_request_gets_an_error_response_and_one_log_entry_and_the_connection_continues(
    with_short_timeout: Service, path: str
) -> None:
    logged = "RuntimeError: raised on purpose"
    before = with_short_timeout.log.read_text().count(logged)  # of other tests
    with Client(with_short_timeout) as client:
        response = client.response_to(get(path, b"X-Request-ID: half-way"))
        assert_failure(response, 500)
        assert response.header("X-Request-ID") == "half-way"

        assert client.response_to(get("/v1/health")).status == 200
    assert with_short_timeout.log.read_text().count(logged) == before + 1


def test_clients_that_read_slowly_occupy_no_thread(with_default_timeout: Service, connect: Connect) -> None:
    slow = [connect(with_default_timeout) for _ in range(2 * THREADS["pages"])]
    for client in slow:
        client.send(get("/export"))
    for client in slow:
        assert client.socket.recv(1000)

    with Client(with_default_timeout) as other:
        other.socket.settimeout(5)
        assert other.response_to(get("/meta")).status == 200


def test_queued_page_of_a_disconnected_client_is_not_rendered(with_default_timeout: Service, connect: Connect) -> None:
    folder = with_default_timeout.log.parent
    holding = [connect(with_default_timeout) for _ in range(THREADS["pages"])]
    for client in holding:
        client.send(get("/held"))
    wait_until(lambda: held_requests(folder) == THREADS["pages"])
    other = connect(with_default_timeout)
    with Client(with_default_timeout) as leaving:
        assert leaving.response_to(get("/v1/meta")).status == 200
        leaving.send(get("/begun"))
    wait_until(lambda: open_connections(other) == THREADS["pages"] + 1)

    release(folder)

    assert [client.response().status for client in holding] == [200] * THREADS["pages"]
    for client in holding:  # all earlier pages are complete when these are
        client.send(get("/meta"))
    assert [client.response().status for client in holding] == [200] * THREADS["pages"]
    assert not (folder / "begun").exists()


@pytest.mark.long
def test_blocked_worker_is_replaced(tmp_path: Path) -> None:
    with service_with_test_endpoints(tmp_path, "--timeout", "2", PETSERVICE_LOG_FORMAT="json") as service:
        (first,) = booted_workers(service)
        with Client(service) as client:
            client.send(get("/hanging"))
            assert client.is_closed()
        wait_until(lambda: len(booted_workers(service)) == 2)

        assert response_to(service, get("/v1/meta")).status == 200
        messages = [line.get("message", "") for line in Observed(service, "", "").lines()]
        assert any(f"WORKER TIMEOUT (pid:{first})" in message for message in messages)
        (stacks,) = (message for message in messages if message.startswith("Worker timed out; stack traces:"))
        assert re.search(r'endpoints.py", line \d+ in get_response', stacks), "the log shows the blocking line"


@pytest.mark.long
def test_worker_with_slow_requests_that_overlap_is_not_replaced(tmp_path: Path, connect: Connect) -> None:
    with service_with_test_endpoints(tmp_path, "--timeout", "6") as service:
        clients = [connect(service) for _ in range(THREADS["pages"])]
        for client in clients:
            client.send(get("/slow"))
            time.sleep(1)  # so that one of them always runs for long

        for client in clients * 3:
            assert client.response().status == 200
            client.send(get("/slow"))


@pytest.mark.long
def test_worker_with_a_blocked_readiness_check_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "slow").touch()
    with (
        service_with_test_endpoints(tmp_path, "--timeout", "2", TEST_CHECK_TIMEOUT="0.2") as service,
        Client(service) as client,
    ):
        (first,) = booted_workers(service)
        assert client.response_to(get("/ready")).status == 503

        until = time.monotonic() + 7  # three times the timeout of a blocked worker
        while time.monotonic() < until:
            assert client.response_to(get("/v1/worker")).body == str(first).encode()
            time.sleep(0.05)  # between two requests
        release(tmp_path)


@pytest.mark.parametrize("sent", [get("/v1/health"), b"nonsense\r\n\r\n", b"GET /half"], ids=str)
def test_ended_connections_leave_no_objects_and_no_work_for_the_garbage_collector(
    with_default_timeout: Service, sent: bytes
) -> None:
    with Client(with_default_timeout) as lasting:
        number_from(lasting, "/v1/garbage")
        for _ in range(20):
            with Client(with_default_timeout) as client:
                client.send(sent)
        wait_until(lambda: number_from(lasting, "/v1/open") == 1)
        assert number_from(lasting, "/v1/garbage") < 20
        wait_until(lambda: number_from(lasting, "/v1/connections") == 1)
