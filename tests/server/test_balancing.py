"""Connections are accepted by all worker processes alike, and none waits for a worker that does not accept it."""

import asyncio
import logging
import os
import resource
import signal
import socket
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any, ClassVar

import pytest

from petservice.server import balancing
from petservice.server.balancing import SLOTS, Acceptor, Balancer, WorkerSlot
from tests.server.connections import Client, get
from tests.server.services import open_connections, planted_service, worker_of, workers
from tests.service import Service
from tests.waiting import wait_until

pytestmark = pytest.mark.once(on="postgresql")

Connect = Callable[[], Client]


# The numbers of connections.


def slots(*connections: int | None) -> list[WorkerSlot]:
    """The slot of a worker for each number of connections."""
    balancer = Balancer()
    found = [balancer.slot(age) for age in range(1, len(connections) + 1)]
    for slot, number in zip(found, connections, strict=True):
        slot.note(number)
    return found


def test_worker_has_more_than_another_that_has_fewer_connections() -> None:
    assert [slot.has_more_than_another() for slot in slots(2, 1, 0)] == [True, True, False]
    assert [slot.has_more_than_another() for slot in slots(1, 1)] == [False, False]


def test_worker_that_accepts_nothing_is_none_to_leave_connections_to() -> None:
    full, one = slots(None, 1)
    assert not one.has_more_than_another()
    full.note(0)
    assert one.has_more_than_another()


def test_workers_have_slots_however_often_others_have_been_replaced() -> None:
    balancer = Balancer()
    old, new = balancer.slot(10 * SLOTS), balancer.slot(11 * SLOTS - 1)
    old.note(1)
    new.note(0)
    assert old.has_more_than_another()
    new.note(None)
    assert not old.has_more_than_another()


# One worker, on a real event loop.


class Served:
    """A worker's acceptor, and the connections that it has begun to serve."""

    # All of the event loop that runs.
    begun: ClassVar[list["Served"]] = []

    def __init__(self, listener: socket.socket, slot: WorkerSlot, limit: int = 1000) -> None:
        self.begun.append(self)
        self._listener = listener.dup()
        self.transports: list[asyncio.Transport] = []
        self.acceptor = Acceptor(
            asyncio.get_running_loop(),
            [self._listener],
            slot,
            limit,
            lambda: ServedConnection(self),
            logging.getLogger("balancing"),
            tls=None,
            tls_timeout=1,
        )

    async def has(self, number: int) -> None:
        """Wait until it serves so many connections."""
        async with asyncio.timeout(10):
            while len(self.transports) != number:
                await asyncio.sleep(0.001)

    async def serves(self, client: socket.socket) -> None:
        """Wait until it serves this client."""
        async with asyncio.timeout(10):
            while client.getsockname() not in [one.get_extra_info("peername") for one in self.transports]:
                await asyncio.sleep(0.001)

    async def end(self) -> None:
        self.acceptor.stop()
        for transport in self.transports:
            transport.abort()
        await self.has(0)
        self._listener.close()


def run(accept: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a test on an event loop of its own, and end the connections of all workers in it."""

    async def accept_and_end() -> None:
        try:
            await accept()
        finally:
            while Served.begun:
                await Served.begun.pop().end()

    asyncio.run(accept_and_end())


class ServedConnection(asyncio.Protocol):
    """Does nothing but to end."""

    def __init__(self, served: Served) -> None:
        self._served = served

    def connection_made(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._served.transports.append(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._served.transports.remove(self._transport)
        self._served.acceptor.connection_ended()


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener


@pytest.fixture
def knock(listener: socket.socket) -> Iterator[Callable[[], socket.socket]]:
    """Connects to the listener until the test is over."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(socket.create_connection(listener.getsockname()))


Knock = Callable[[], socket.socket]


def test_worker_accepts_up_to_its_limit_and_on_as_connections_end(listener: socket.socket, knock: Knock) -> None:
    async def accept() -> None:
        slot, other = slots(None, 5)
        worker = Served(listener, slot, limit=2)
        worker.acceptor.listen()
        clients = [knock() for _ in range(3)]
        await worker.has(2)
        assert not other.has_more_than_another(), "a full worker is none to leave connections to"
        for _ in range(100):  # the event loop has had time enough for the third
            await asyncio.sleep(0)
        assert worker.acceptor.open == 2

        clients[0].close()

        await worker.serves(clients[2])
        assert worker.acceptor.open == 2

    run(accept)


def test_worker_with_more_than_another_accepts_at_the_latest_after_the_deferral(
    listener: socket.socket, knock: Knock
) -> None:
    async def accept() -> None:
        slot, _ = slots(None, 0)
        worker = Served(listener, slot)
        worker.acceptor.listen()
        knock()
        await worker.has(1)  # at once: neither has one
        started = time.monotonic()
        knock()
        await worker.has(2)
        # Not much before; how long after depends on the machine.
        assert balancing.MAX_DEFERRAL - balancing.DEFERRAL_INTERVAL < time.monotonic() - started < 1

    run(accept)


def test_worker_does_not_defer_once_it_has_no_more_than_another(
    listener: socket.socket, knock: Knock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(balancing, "MAX_DEFERRAL", 60)

    async def accept() -> None:
        slot, other = slots(None, 1000)
        worker = Served(listener, slot)
        worker.acceptor.listen()
        first = knock()
        knock()
        await worker.has(2)
        other.note(1)
        waiting = knock()
        await asyncio.sleep(0.01)
        assert len(worker.transports) == 2

        first.close()  # now it has as many

        await worker.serves(waiting)
        assert worker.acceptor.open == 2

    run(accept)


def test_stopped_worker_accepts_nothing(listener: socket.socket, knock: Knock) -> None:
    async def accept() -> None:
        slot, other = slots(None, 5)
        stopped, going_on = Served(listener, slot), Served(listener, other)
        stopped.acceptor.listen()
        stopped.acceptor.stop()
        assert not other.has_more_than_another()
        going_on.acceptor.listen()
        for _ in range(4):
            knock()
        await going_on.has(4)
        stopped.acceptor.connection_ended()  # one that it still had
        knock()
        await going_on.has(5)
        assert stopped.transports == []

    run(accept)


def test_worker_without_open_files_left_accepts_again_when_it_has_some(
    listener: socket.socket, knock: Knock, caplog: pytest.LogCaptureFixture
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)

    async def accept() -> None:
        slot, other = slots(None, 5)
        worker = Served(listener, slot)
        worker.acceptor.listen()
        assert other.has_more_than_another()
        knock()  # before the limit, which holds for this process as well
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
        try:
            while "No connection could be accepted" not in caplog.text:
                await asyncio.sleep(0)
            assert not other.has_more_than_another(), "it is none to leave connections to"
            for _ in range(100):
                await asyncio.sleep(0)
            assert caplog.text.count("No connection could be accepted") == 1
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        worker.acceptor.listen()
        await worker.has(1)

    run(accept)


# The service.


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    """Connections that last until the test is over."""
    with ExitStack() as stack:
        yield stack


def two_workers(folder: Path, *options: str, **variables: str) -> AbstractContextManager[Service]:
    return planted_service(folder, *options, WEB_CONCURRENCY="2", **variables)


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
    with two_workers(tmp_path, PLANTED_MAX_DEFERRAL="5") as service:
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
    with planted_service(tmp_path, PLANTED_MAX_DEFERRAL="5") as service:
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
    with two_workers(tmp_path, PLANTED_MAX_DEFERRAL="1") as service:
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
    with planted_service(tmp_path) as service, Client(service) as first, ExitStack() as stack:
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
    with two_workers(tmp_path, PLANTED_MAX_DEFERRAL="600") as service:
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
