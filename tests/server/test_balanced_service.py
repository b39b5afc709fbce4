"""Connections to a service with several workers: all accept alike, and none waits for a suspended worker."""

import os
import resource
import signal
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import pytest

from tests.server.connections import Client, get
from tests.server.services import open_connections, service_with_test_endpoints, worker_of, workers
from tests.service import Service
from tests.waiting import wait_until

pytestmark = pytest.mark.once(on="postgresql")


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    """Connections that last until the test is over."""
    with ExitStack() as stack:
        yield stack


def two_workers(folder: Path, *options: str, **variables: str) -> AbstractContextManager[Service]:
    return service_with_test_endpoints(folder, *options, WEB_CONCURRENCY="2", **variables)


def ask_once(service: Service) -> int:
    """The process id of the worker that got a connection, which has ended when this returns."""
    with Client(service) as client:
        client.send(get("/v1/worker", b"Connection: close"))
        pid = int(client.answer().body)
        assert client.is_closed()
        return pid


def wait_for_workers(service: Service, number: int = 2) -> None:
    """Wait until so many worker processes accept connections. They have none then."""
    accepting: set[int] = set()

    def all_accept() -> bool:
        accepting.add(ask_once(service))
        return len(accepting) == number

    wait_until(all_accept)


def test_each_worker_gets_as_many_of_clients_that_come_at_once(tmp_path: Path) -> None:
    # Not that soon: a busy machine may run a worker so late.
    with two_workers(tmp_path, TEST_MAX_DEFERRAL="5") as service:
        for number in (2, 4, 16):
            wait_for_workers(service)
            with ExitStack() as stack:
                clients = [stack.enter_context(Client(service)) for _ in range(number)]

                assert list(Counter(map(worker_of, clients)).values()) == [number // 2] * 2
                assert [open_connections(client) for client in clients] == [number // 2] * number


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with two_workers(tmp_path_factory.mktemp("two")) as service:
        yield service


def test_connections_are_split_about_evenly_with_the_deferral_as_it_is(two: Service, stack: ExitStack) -> None:
    wait_for_workers(two)
    clients = [stack.enter_context(Client(two)) for _ in range(16)]
    few, _ = sorted(Counter(map(worker_of, clients)).values())
    assert few >= 5


def test_new_worker_gets_the_next_connections(tmp_path: Path, stack: ExitStack) -> None:
    with service_with_test_endpoints(tmp_path, TEST_MAX_DEFERRAL="5") as service:
        (old,) = {worker_of(stack.enter_context(Client(service))) for _ in range(8)}
        service.process.send_signal(signal.SIGTTIN)  # one worker more
        wait_until(lambda: worker_of(stack.enter_context(Client(service))) != old)

        assert old not in {worker_of(stack.enter_context(Client(service))) for _ in range(6)}


def test_worker_that_is_suspended_keeps_no_connection_waiting(two: Service, stack: ExitStack) -> None:
    wait_for_workers(two)
    suspended, other = workers(two)
    os.kill(suspended, signal.SIGSTOP)
    try:
        for _ in range(5):
            client = stack.enter_context(Client(two))
            client.socket.settimeout(1)
            assert worker_of(client) == other
    finally:
        os.kill(suspended, signal.SIGCONT)


def test_many_connections_at_once_wait_only_once_for_a_worker_that_is_suspended(
    tmp_path: Path, stack: ExitStack
) -> None:
    """One after the other they would wait for 30 seconds."""
    with two_workers(tmp_path, TEST_MAX_DEFERRAL="1") as service:
        wait_for_workers(service)
        suspended, other = workers(service)
        os.kill(suspended, signal.SIGSTOP)
        try:
            clients = [stack.enter_context(Client(service)) for _ in range(30)]
            for client in clients:
                client.send(get("/v1/worker"))
            for client in clients:
                client.socket.settimeout(8)
                assert int(client.answer().body) == other
        finally:
            os.kill(suspended, signal.SIGCONT)


def test_connections_beyond_a_worker_s_limit_go_to_another(tmp_path: Path, stack: ExitStack) -> None:
    with two_workers(tmp_path, "--worker-connections", "2") as service:
        wait_for_workers(service)
        suspended, other = workers(service)
        os.kill(suspended, signal.SIGSTOP)
        try:
            clients = [stack.enter_context(Client(service)) for _ in range(2)]
            assert {worker_of(client) for client in clients} == {other}
            beyond = stack.enter_context(Client(service))
            beyond.send(get("/v1/worker"))
            beyond.socket.settimeout(0.5)
            with pytest.raises(TimeoutError):
                beyond.answer()
        finally:
            os.kill(suspended, signal.SIGCONT)
        beyond.socket.settimeout(10)
        assert int(beyond.answer().body) == suspended


def test_worker_without_open_files_left_serves_what_waits_once_it_has_some(tmp_path: Path) -> None:
    with service_with_test_endpoints(tmp_path) as service, Client(service) as first, ExitStack() as stack:
        pid = worker_of(first)
        limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        open_files = len(list(Path(f"/proc/{pid}/fd").iterdir()))
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (open_files, limits[1]))
        waiting = [stack.enter_context(Client(service)) for _ in range(3)]
        wait_until(lambda: "No connection could be accepted" in service.log.read_text())
        assert worker_of(first) == pid, "it serves those that it has"

        resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)

        for client in waiting:
            client.socket.settimeout(5)
            assert worker_of(client) == pid


def test_worker_that_was_killed_is_none_to_leave_connections_to(tmp_path: Path, stack: ExitStack) -> None:
    # Far longer than any client would wait.
    with two_workers(tmp_path, TEST_MAX_DEFERRAL="600") as service:
        wait_for_workers(service)
        killed, other = workers(service)
        clients = []
        while killed not in map(worker_of, clients):
            clients.append(stack.enter_context(Client(service)))
        os.kill(killed, signal.SIGKILL)
        wait_until(lambda: ask_once(service) not in (killed, other))
        clients = [client for client in clients if not is_lost(client)]
        ahead = len(clients)

        clients += [stack.enter_context(Client(service)) for _ in range(ahead + 10)]

        counts = Counter(map(worker_of, clients))
        assert counts[other] == ahead + 5
        assert sum(counts.values()) == 2 * (ahead + 5)


def is_lost(client: Client) -> bool:
    try:
        worker_of(client)
    except (AssertionError, OSError):
        return True
    return False


def test_reload_loses_no_connection_and_no_request(tmp_path: Path) -> None:
    # The pool around the service: its threads end with that, whatever else fails.
    with ThreadPoolExecutor() as pool, two_workers(tmp_path) as service:
        wait_for_workers(service)
        old = set(workers(service))
        is_over = False

        def use() -> Counter[int]:
            statuses: Counter[int] = Counter()
            while not is_over:
                with Client(service) as client:
                    for _ in range(3):
                        client.send(get("/v1/meta"))
                        answer = client.answer()
                        statuses[answer.status] += 1
                        if "connection" in answer.headers:
                            break
            return statuses

        clients = [pool.submit(use) for _ in range(4)]
        try:
            service.process.send_signal(signal.SIGHUP)
            wait_until(lambda: len(workers(service)) == 4 and not any(map(is_running, old)))
            served_by = {ask_once(service) for _ in range(10)}
        finally:
            is_over = True
        for client in clients:
            statuses = client.result()
            assert set(statuses) == {200}
        assert served_by <= set(workers(service)) - old


def is_running(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()
