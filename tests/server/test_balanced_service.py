"""The workers of a service share its connections evenly, and no connection waits for a suspended worker."""

import resource
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.server.connections import Client, Connect, get
from tests.server.services import booted_workers, open_connections, service_with_test_endpoints, suspended, worker_of
from tests.service import Service
from tests.waiting import wait_until

pytestmark = pytest.mark.once(on="postgresql")


def wait_for_workers(service: Service) -> None:
    """Wait until both workers accept connections; none of them has an open connection then."""
    accepting: set[int] = set()

    def all_accept() -> bool:
        with Client(service) as client:
            accepting.add(int(client.response_to(get("/v1/worker", b"Connection: close")).body))
            assert client.is_closed()
        return len(accepting) == 2

    wait_until(all_accept)


def test_simultaneous_connections_are_split_evenly_between_workers(tmp_path: Path) -> None:
    # A long deferral, because a busy machine may run a worker late.
    with service_with_test_endpoints(tmp_path, WEB_CONCURRENCY="2", TEST_DEFERRAL="0.1") as service:
        for number in (2, 4, 16):
            wait_for_workers(service)
            with ExitStack() as stack:
                clients = [stack.enter_context(Client(service)) for _ in range(number)]

                assert list(Counter(map(worker_of, clients)).values()) == [number // 2] * 2
                assert [open_connections(client) for client in clients] == [number // 2] * number


def test_connections_that_come_more_often_than_turns_delay_no_other_one_for_long(tmp_path: Path) -> None:
    with service_with_test_endpoints(tmp_path, WEB_CONCURRENCY="2", TEST_DEFERRAL="0.05") as service:
        wait_for_workers(service)
        for _ in range(600):
            Client(service).socket.close()
        began = time.monotonic()
        with Client(service) as client:
            worker_of(client)

        assert time.monotonic() - began < 10, "turns of the same length would take fifteen seconds"


@pytest.mark.long
def test_suspended_worker_delays_no_connection_and_those_beyond_the_limits_wait(
    tmp_path: Path, connect: Connect
) -> None:
    with service_with_test_endpoints(tmp_path, "--worker-connections", "2", WEB_CONCURRENCY="2") as service:
        wait_for_workers(service)
        one, other = booted_workers(service)
        with suspended(one):
            clients = [connect(service) for _ in range(2)]
            for client in clients:
                client.socket.settimeout(1)
                assert worker_of(client) == other
            surplus = connect(service)
            surplus.send(get("/v1/worker"))
            assert surplus.is_waiting()
        assert int(surplus.response().body) == one

        assert worker_of(connect(service)) == one
        waiting = connect(service)
        waiting.send(get("/v1/worker"))
        assert waiting.is_waiting()
        clients[0].socket.close()
        assert int(waiting.response().body) == other


@pytest.mark.long
def test_worker_at_its_limit_of_open_files_serves_waiting_connections_once_files_are_free(
    tmp_path: Path, connect: Connect
) -> None:
    with service_with_test_endpoints(tmp_path) as service, Client(service) as first:
        pid = worker_of(first)
        limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        open_files = len(list(Path(f"/proc/{pid}/fd").iterdir()))
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (open_files, limits[1]))
        waiting = [connect(service) for _ in range(3)]
        wait_until(lambda: "No connection could be accepted" in service.log.read_text())
        assert worker_of(first) == pid, "it still serves its open connections"
        assert service.log.read_text().count("No connection could be accepted") < 10, "it tries once per second"

        resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)

        for client in waiting:
            client.socket.settimeout(5)
            assert worker_of(client) == pid
