"""The balance of connections: a worker leaves a new connection to another worker that has fewer.

Without this module, the kernel gives a new connection to the worker that asks first. So one worker may get both of two
clients, which then wait for each other while the other worker is idle.
"""

import asyncio
import mmap
import socket
from collections import Counter
from functools import partial
from typing import Any

from petservice.client_address import Address, Proxies, network_of, parse_address
from petservice.server.limits import MAX_CONNECTIONS_OF_ADDRESS, REQUEST_TIMEOUT
from petservice.server.protocol import Connection

# Number of slots for worker processes. A worker's slot follows from its age, so two running workers share a slot only
# after many restarts. They are then balanced less evenly.
SLOTS = 64
# Seconds between two checks of a worker that leaves the next connection to another worker.
DEFERRAL_INTERVAL = 0.001
# Maximum number of seconds that a worker leaves a connection to others.
MAX_DEFERRAL = 0.02
# Seconds for which it then accepts all connections.
NO_DEFERRAL = 0.2

# Maximum number of connections that a worker accepts in one turn of its event loop.
ACCEPTED_AT_ONCE = 8

# The number of connections of each worker, in memory that all worker processes share. A worker that accepts no
# connections has 0, and any other worker has 1 more than its connections.
_counts = memoryview(mmap.mmap(-1, SLOTS * 8)).cast("Q")


class WorkerSlot:
    """The number of connections of one worker, which all workers see."""

    def __init__(self, age: int) -> None:
        """Use the slot of the worker with this age: gunicorn's running number of the worker."""
        self._slot = age % SLOTS

    def note(self, connections: int | None) -> None:
        """Publish this worker's number of connections, or None if it accepts no more."""
        _counts[self._slot] = 0 if connections is None else connections + 1

    def has_more_than_another(self) -> bool:
        """Return whether another worker that accepts connections has fewer."""
        own = _counts[self._slot]
        return any(0 < count < own for count in _counts.tolist())


class Acceptor:
    """An acceptor of one worker's connections, up to a limit; others wait in the kernel or go to other workers."""

    def __init__(self, worker: Any, proxies: Proxies) -> None:
        """Create the acceptor of an EventLoopWorker. Connections of these proxies are not limited."""
        self._worker = worker
        self._listeners = [listener.sock for listener in worker.sockets]
        self._proxies = proxies
        # The address or IPv6 network of each connection, by its socket, and how many connections each of them has.
        self._addresses: dict[int, Address | None] = {}
        self._of_address: Counter[Address | None] = Counter()
        # Number of accepted connections, including those in their TLS handshake.
        self.open = 0
        self._is_stopped = False
        self._is_watching = False
        # While this worker leaves connections to another: the timer of its next check, and the time of the first one.
        self._deferral: asyncio.TimerHandle | None = None
        self._deferring_since: float | None = None
        self._no_deferral_until = 0.0
        self._handshakes: set[asyncio.Task[None]] = set()
        for listener in self._listeners:
            listener.setblocking(False)

    def listen(self) -> None:
        """Accept connections if the limit is not reached."""
        has_room = not self._is_stopped and self.open < self._worker.cfg.worker_connections
        self._worker.slot.note(self.open if has_room else None)
        self._watch(has_room and self._deferral is None)

    def stop(self) -> None:
        """Accept no more connections."""
        self._is_stopped = True
        self.listen()

    def connection_ended(self, descriptor: int) -> None:
        """Count the connection with this socket as ended."""
        address = self._addresses.pop(descriptor, None)
        self._of_address[address] -= 1
        if self._of_address[address] <= 0:
            del self._of_address[address]
        self.open -= 1
        if self._deferral is not None:  # this worker may have the fewest connections now
            self._deferral.cancel()
            self._deferral = None
        self.listen()

    def _watch(self, watches: bool) -> None:
        if watches != self._is_watching:
            self._is_watching = watches
            for listener in self._listeners:
                if watches:
                    self._worker.loop.add_reader(listener, self._accept, listener)
                else:
                    self._worker.loop.remove_reader(listener)

    def _accept(self, listener: socket.socket) -> None:
        # Few at a time, because a worker that accepted all at the same time would get too many. Not one, because
        # between two turns of the event loop, all requests that have arrived on busy connections are handled.
        for _ in range(ACCEPTED_AT_ONCE):
            if not self._is_watching or self._defers() or not self._accept_one(listener):
                return

    def _accept_one(self, listener: socket.socket) -> bool:
        """Accept a connection, and return False if there is none."""
        try:
            accepted, peer = listener.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return False
        except OSError as error:  # for example too many open files; the worker tries again within a second
            self._worker.log.error("No connection could be accepted: %s", error)
            self._worker.slot.note(None)
            self._watch(False)
            return False
        peer = peer[0] if isinstance(peer, tuple) else None  # a unix socket has no address
        address = None if peer is None else parse_address(peer)
        address = None if address is None else network_of(address)
        if self._of_address[address] >= MAX_CONNECTIONS_OF_ADDRESS and not self._proxies.trusts(peer):
            accepted.close()
            return True
        self._addresses[accepted.fileno()] = address
        self._of_address[address] += 1
        accepted.setblocking(False)
        self.open += 1
        self.listen()
        handshake = self._worker.loop.create_task(self._begin(accepted))
        self._handshakes.add(handshake)
        handshake.add_done_callback(self._handshakes.discard)
        return True

    def _defers(self) -> bool:
        """Return whether to leave the next connection to a worker that has fewer, for MAX_DEFERRAL at most."""
        now = self._worker.loop.time()
        if now < self._no_deferral_until or not self._worker.slot.has_more_than_another():
            self._deferring_since = None
            return False
        if self._deferring_since is None:
            self._deferring_since = now
        elif now - self._deferring_since >= MAX_DEFERRAL:
            # The other worker is too busy or blocked, so accept the next connections without waiting for it.
            self._no_deferral_until = now + NO_DEFERRAL
            self._deferring_since = None
            return False
        self._deferral = self._worker.loop.call_later(DEFERRAL_INTERVAL, self._look_again)
        self._watch(False)
        return True

    def _look_again(self) -> None:
        self._deferral = None
        self.listen()

    async def _begin(self, accepted: socket.socket) -> None:
        descriptor = accepted.fileno()
        try:
            await self._worker.loop.connect_accepted_socket(
                partial(Connection, self._worker),
                accepted,
                ssl=self._worker.tls,
                ssl_handshake_timeout=REQUEST_TIMEOUT if self._worker.tls else None,
            )
        except (OSError, asyncio.CancelledError):  # not TLS, or disconnected before the handshake
            accepted.close()
            self.connection_ended(descriptor)
