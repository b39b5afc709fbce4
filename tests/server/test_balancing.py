"""The acceptor of one worker, which accepts a connection or defers it to another worker."""

import asyncio
import logging
import resource
import socket
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack
from typing import Any, ClassVar

import pytest

from petservice.server import balancing
from petservice.server.balancing import SLOTS, Acceptor, Balancer, WorkerSlot

pytestmark = pytest.mark.once(on="postgresql")


# The numbers of connections.


def slots(*connections: int | None) -> list[WorkerSlot]:
    """Return slots of workers with these numbers of connections; None means that a worker accepts none."""
    balancer = Balancer()
    found = [balancer.slot(age) for age in range(1, len(connections) + 1)]
    for slot, number in zip(found, connections, strict=True):
        slot.note(number)
    return found


def test_worker_with_more_connections_than_another_is_recognized() -> None:
    assert [slot.has_more_than_another() for slot in slots(2, 1, 0)] == [True, True, False]
    assert [slot.has_more_than_another() for slot in slots(1, 1)] == [False, False]


def test_worker_that_accepts_nothing_is_ignored_in_the_comparison() -> None:
    full, one = slots(None, 1)
    assert not one.has_more_than_another()
    full.note(0)
    assert one.has_more_than_another()


def test_workers_have_slots_after_any_number_of_replacements() -> None:
    balancer = Balancer()
    old, new = balancer.slot(10 * SLOTS), balancer.slot(11 * SLOTS - 1)
    old.note(1)
    new.note(0)
    assert old.has_more_than_another()
    new.note(None)
    assert not old.has_more_than_another()


# One worker, on a real event loop.


class Worker:
    """A worker with an acceptor and the connections that it serves."""

    # All workers on the running event loop.
    running: ClassVar[list["Worker"]] = []

    def __init__(self, listener: socket.socket, slot: WorkerSlot, limit: int = 1000) -> None:
        self.running.append(self)
        self._listener = listener.dup()
        self.transports: list[asyncio.Transport] = []
        self.acceptor = Acceptor(
            asyncio.get_running_loop(),
            [self._listener],
            slot,
            limit,
            lambda: WorkerConnection(self),
            logging.getLogger("balancing"),
            tls=None,
            tls_timeout=1,
            set_kind=lambda descriptor, kind: None,
            is_proxy=lambda address: True,
        )

    async def wait_for(self, number: int) -> None:
        """Wait until the worker serves `number` connections."""
        async with asyncio.timeout(10):
            while len(self.transports) != number:
                await asyncio.sleep(0.001)

    async def wait_for_client(self, client: socket.socket) -> None:
        """Wait until the worker serves `client`."""
        async with asyncio.timeout(10):
            while client.getsockname() not in [one.get_extra_info("peername") for one in self.transports]:
                await asyncio.sleep(0.001)

    async def end(self) -> None:
        self.acceptor.stop()
        for transport in self.transports:
            transport.abort()
        await self.wait_for(0)
        self._listener.close()


def run(accept: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a test on a new event loop, and then close the connections of all its workers."""

    async def accept_and_end() -> None:
        try:
            await accept()
        finally:
            while Worker.running:
                await Worker.running.pop().end()

    asyncio.run(accept_and_end())


class WorkerConnection(asyncio.Protocol):
    """A connection that ignores its data and reports its end to the worker."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    def connection_made(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._worker.transports.append(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._worker.transports.remove(self._transport)
        self._worker.acceptor.connection_ended(-1)


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener


@pytest.fixture
def connect(listener: socket.socket) -> Iterator[Callable[[], socket.socket]]:
    """Return a function that connects to the listener until the end of the test."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(socket.create_connection(listener.getsockname()))


Connect = Callable[[], socket.socket]


def test_worker_accepts_up_to_its_limit_and_continues_when_a_connection_ends(
    listener: socket.socket, connect: Connect
) -> None:
    async def accept() -> None:
        slot, other = slots(None, 5)
        worker = Worker(listener, slot, limit=2)
        worker.acceptor.listen()
        clients = [connect() for _ in range(3)]
        await worker.wait_for(2)
        assert not other.has_more_than_another(), "no worker defers to a full worker"
        for _ in range(100):  # enough turns of the event loop to accept the third connection
            await asyncio.sleep(0)
        assert worker.acceptor.open == 2

        clients[0].close()

        await worker.wait_for_client(clients[2])
        assert worker.acceptor.open == 2

    run(accept)


def test_worker_with_more_connections_than_another_accepts_after_the_maximum_deferral(
    listener: socket.socket, connect: Connect
) -> None:
    async def accept() -> None:
        slot, _ = slots(None, 0)
        worker = Worker(listener, slot)
        worker.acceptor.listen()
        connect()
        await worker.wait_for(1)  # immediately, because neither worker has a connection
        started = time.monotonic()
        connect()
        await worker.wait_for(2)
        # At the earliest one interval before the maximum. The delay after it depends on the machine.
        assert balancing.MAX_DEFERRAL - balancing.DEFERRAL_INTERVAL < time.monotonic() - started < 1

    run(accept)


def test_worker_stops_deferring_when_it_has_no_more_connections_than_another(
    listener: socket.socket, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(balancing, "MAX_DEFERRAL", 60)

    async def accept() -> None:
        slot, other = slots(None, 1000)
        worker = Worker(listener, slot)
        worker.acceptor.listen()
        first = connect()
        connect()
        await worker.wait_for(2)
        other.note(1)
        waiting = connect()
        await asyncio.sleep(0.01)
        assert len(worker.transports) == 2

        first.close()  # now each worker has one connection

        await worker.wait_for_client(waiting)
        assert worker.acceptor.open == 2

    run(accept)


def test_stopped_worker_accepts_nothing(listener: socket.socket, connect: Connect) -> None:
    async def accept() -> None:
        slot, other = slots(None, 5)
        stopped, active = Worker(listener, slot), Worker(listener, other)
        stopped.acceptor.listen()
        stopped.acceptor.stop()
        assert not other.has_more_than_another()
        active.acceptor.listen()
        for _ in range(4):
            connect()
        await active.wait_for(4)
        stopped.acceptor.connection_ended(-1)  # of a connection that was still open
        connect()
        await active.wait_for(5)
        assert stopped.transports == []

    run(accept)


def test_worker_at_its_limit_of_open_files_accepts_again_once_files_are_free(
    listener: socket.socket, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)

    async def accept() -> None:
        slot, other = slots(None, 5)
        worker = Worker(listener, slot)
        worker.acceptor.listen()
        assert other.has_more_than_another()
        connect()  # before the limit is lowered, because it applies to this process too
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
        try:
            while "No connection could be accepted" not in caplog.text:
                await asyncio.sleep(0)
            assert not other.has_more_than_another(), "no worker defers to it"
            for _ in range(100):
                await asyncio.sleep(0)
            assert caplog.text.count("No connection could be accepted") == 1
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        worker.acceptor.listen()
        await worker.wait_for(1)

    run(accept)
