"""The stop of a service and the drain before it: requests finish, and connections get an announcement."""

import os
import signal
from pathlib import Path

import pytest

from tests.server.connections import Client, Connect, get
from tests.server.services import (
    DRAINING,
    booted_workers,
    held_requests,
    open_connections,
    release,
    service_with_test_endpoints,
)
from tests.service import Service
from tests.waiting import wait_until

pytestmark = pytest.mark.once(on="postgresql")


def stop_is_announced_to(client: Client) -> bool:
    response = client.response_to(get("/v1/health"))
    assert response.status == 200
    return response.header("Connection") == "close"


def test_stop_completes_requests_and_announces_itself_on_keep_alive_connections(
    tmp_path: Path, connect: Connect
) -> None:
    with service_with_test_endpoints(tmp_path) as service:
        busy, keep_alive, silent, idle = (connect(service) for _ in range(4))
        assert idle.response_to(get("/v1/health")).status == 200
        assert keep_alive.response_to(get("/v1/meta")).header("Connection") is None
        busy.send(get("/held"))
        wait_until(lambda: held_requests(tmp_path))

        service.process.send_signal(signal.SIGTERM)

        wait_until(lambda: stop_is_announced_to(keep_alive))  # the worker gets the signal some time after the master
        for client in (silent, idle):
            client.socket.settimeout(5)  # less than the timeout of a keep-alive connection
            assert client.is_closed()
        assert service.process.poll() is None
        with pytest.raises(ConnectionRefusedError):  # so that a load balancer tries another instance
            connect(service)
        release(tmp_path)
        last = busy.response()
        assert (last.status, last.header("Connection")) == (200, "close")
        assert busy.is_closed()
        assert service.process.wait(timeout=20) == 0


def send(service: Service, number: signal.Signals) -> None:
    """Send a signal to the master, and SIGINT to the workers as well, as a terminal does for Ctrl-C."""
    for pid in (service.process.pid, *(booted_workers(service) if number == signal.SIGINT else ())):
        os.kill(pid, number)


@pytest.mark.parametrize(
    "signals",
    [
        [signal.SIGTERM],
        pytest.param([signal.SIGINT], marks=pytest.mark.long),
        pytest.param([signal.SIGINT, signal.SIGINT], marks=pytest.mark.long),
    ],
    ids=str,
)
def test_drain_refuses_readiness_alone_and_ends_at_a_second_signal_and_a_further_interrupt_ends_requests(
    tmp_path: Path, connect: Connect, signals: list[signal.Signals]
) -> None:
    with service_with_test_endpoints(tmp_path, PETSERVICE_DRAIN_SECONDS="600") as service:
        busy, keep_alive = connect(service), connect(service)
        busy.send(get("/held"))
        wait_until(lambda: held_requests(tmp_path))
        service.process.send_signal(signal.SIGTERM)
        wait_until(lambda: DRAINING in service.log.read_text())
        for _ in range(20):
            with Client(service) as client:
                ready = client.response_to(get("/ready"))
                assert (ready.status, ready.error["message"]) == (503, "The service is about to stop.")
                assert not stop_is_announced_to(client)

        send(service, signals[0])

        wait_until(lambda: stop_is_announced_to(keep_alive))
        assert service.process.poll() is None
        if len(signals) == 2:
            send(service, signals[1])
            assert service.process.wait(timeout=20) == 0, "less than gunicorn's graceful_timeout"
            assert busy.is_closed()
        else:
            release(tmp_path)
            assert busy.response().status == 200
            assert service.process.wait(timeout=20) == 0


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGUSR2], ids=str)
def test_requests_finish_if_a_signal_to_the_master_reaches_the_workers_as_well(
    tmp_path: Path, connect: Connect, number: signal.Signals
) -> None:
    """A terminal that closes and `systemctl kill` send it to all processes."""
    with service_with_test_endpoints(tmp_path) as service:
        busy = connect(service)
        busy.send(get("/held"))
        wait_until(lambda: held_requests(tmp_path))

        for pid in (*booted_workers(service), service.process.pid):
            os.kill(pid, number)

        wait_until(lambda: f"Handling signal: {number.name[3:].lower()}" in service.log.read_text())
        release(tmp_path)
        assert busy.response().status == 200


@pytest.mark.long
@pytest.mark.parametrize("is_running", [True, False], ids=["running request", "half a request"])
def test_quit_cuts_off_requests(tmp_path: Path, connect: Connect, is_running: bool) -> None:
    with service_with_test_endpoints(tmp_path) as service:
        client, other = connect(service), connect(service)
        client.send(get("/held") if is_running else b"GET /v1/he")
        wait_until(lambda: bool(held_requests(tmp_path)) == is_running and open_connections(other) == 2)

        service.process.send_signal(signal.SIGQUIT)

        assert service.process.wait(timeout=10) == 0, "less than gunicorn's graceful_timeout"
        assert client.is_closed()
        # A worker that ends by itself writes the use of keys.
        assert ("was sent SIGKILL" in service.log.read_text()) == is_running


def test_worker_obeys_a_signal_to_stop_that_reaches_it_in_its_fork(tmp_path: Path) -> None:
    with service_with_test_endpoints(tmp_path, TEST_FORKED=str(tmp_path / "forked")) as service:
        stopped, running = booted_workers(service)

        assert service.workers() == [running]
    assert f"Worker exiting (pid: {stopped})" in service.log.read_text()
