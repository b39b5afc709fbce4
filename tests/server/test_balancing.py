"""The acceptor of one worker: when it accepts a connection, and when it leaves it to another worker."""

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
            set_kind=lambda descriptor, kind: None,
            is_proxy=lambda address: True,
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
        self._served.acceptor.connection_ended(-1)


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
        stopped.acceptor.connection_ended(-1)  # one that it still had
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
