"""The end of a service: requests finish, connections are told, and nothing else is waited for."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from petservice.server.limits import CONCURRENT_STRANGERS
from tests.server.connections import Client, Connect, get
from tests.server.services import DRAINING, held, release, service_with_test_endpoints, workers
from tests.service import Service
from tests.waiting import wait_until

pytestmark = pytest.mark.once(on="postgresql")


def test_stop_lets_requests_finish_and_announces_itself_on_kept_connections(tmp_path: Path, connect: Connect) -> None:
    with service_with_test_endpoints(tmp_path) as service:
        busy, kept, silent = (connect(service) for _ in range(3))
        kept.send(get("/v1/meta"))
        assert "connection" not in kept.answer().headers
        busy.send(get("/held"))
        wait_until(lambda: held(tmp_path))

        answers = []

        def is_announced() -> bool:
            kept.send(get("/v1/health"))
            answers.append(kept.answer())
            return "connection" in answers[-1].headers

        service.process.send_signal(signal.SIGTERM)

        wait_until(is_announced)  # its worker hears of the stop some time after the master
        assert {answer.status for answer in answers} == {200}
        assert answers[-1].headers["connection"] == "close"
        assert silent.is_closed()
        assert service.process.poll() is None
        release(tmp_path)
        last = busy.answer()
        assert (last.status, last.headers["connection"]) == (200, "close")
        assert busy.is_closed()
        assert service.process.wait(timeout=20) == 0


def test_stop_ends_no_connection_without_announcing_it(tmp_path: Path) -> None:
    # The pool around the service: its threads end with that, whatever else fails.
    with ThreadPoolExecutor() as pool, service_with_test_endpoints(tmp_path) as service:
        answered = set()

        def ask_until_announced(number: int) -> str:
            with Client(service) as client:
                while True:
                    client.send(get("/v1/health"))
                    answer = client.answer()
                    answered.add(number)
                    if "connection" in answer.headers:
                        return answer.headers["connection"]

        clients = [pool.submit(ask_until_announced, number) for number in range(4)]
        wait_until(lambda: len(answered) == len(clients))
        service.process.send_signal(signal.SIGTERM)

        assert [client.result() for client in clients] == ["close"] * len(clients)


def interrupt(service: Service) -> None:
    """Press Ctrl-C: a terminal signals the workers as well as the master."""
    for pid in (service.process.pid, *workers(service)):
        os.kill(pid, signal.SIGINT)


def stop_is_announced_to(client: Client) -> bool:
    client.send(get("/v1/health"))
    return "connection" in client.answer().headers


@pytest.mark.parametrize("is_draining", [False, True], ids=["outside a drain", "during a drain"])
def test_interrupt_lets_requests_finish(tmp_path: Path, connect: Connect, is_draining: bool) -> None:
    with service_with_test_endpoints(tmp_path, PETSERVICE_DRAIN_SECONDS="600" if is_draining else "0") as service:
        busy, kept = connect(service), connect(service)
        busy.send(get("/held"))
        wait_until(lambda: held(tmp_path))
        if is_draining:
            service.process.send_signal(signal.SIGTERM)
            wait_until(lambda: DRAINING in service.log.read_text())

        interrupt(service)

        wait_until(lambda: stop_is_announced_to(kept))
        assert service.process.poll() is None
        release(tmp_path)
        assert busy.answer().status == 200
        assert service.process.wait(timeout=20) == 0


def test_second_interrupt_ends_requests(tmp_path: Path, connect: Connect) -> None:
    with service_with_test_endpoints(tmp_path) as service:
        busy, kept = connect(service), connect(service)
        busy.send(get("/held"))
        wait_until(lambda: held(tmp_path))
        interrupt(service)
        wait_until(lambda: stop_is_announced_to(kept))

        interrupt(service)

        assert service.process.wait(timeout=20) == 0, "sooner than gunicorn's graceful_timeout"
        assert busy.is_closed()


def test_stop_does_not_wait_for_idle_connections(tmp_path: Path, connect: Connect) -> None:
    with service_with_test_endpoints(tmp_path) as service:
        clients = [connect(service) for _ in range(5)]
        clients[0].send(get("/v1/meta"))
        assert clients[0].answer().status == 200

        service.process.send_signal(signal.SIGTERM)

        assert service.process.wait(timeout=5) == 0, "sooner than a kept connection would end"


def test_stop_does_not_wait_for_clients_that_have_left(tmp_path: Path) -> None:
    with service_with_test_endpoints(tmp_path) as service:
        with ExitStack() as stack:
            for _ in range(20):  # each with a response that finds nobody
                stack.enter_context(Client(service)).send(get("/held"))
            wait_until(lambda: held(tmp_path) == CONCURRENT_STRANGERS)
        release(tmp_path)

        service.process.send_signal(signal.SIGTERM)

        assert service.process.wait(timeout=8) == 0
