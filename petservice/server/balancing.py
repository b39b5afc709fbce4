"""How the worker processes accept connections, so that all have about as many.

Without it, both of two clients may come to one worker and wait there for each other, while the other worker is idle:
the kernel gives a new connection to whichever worker asks first.
"""

import asyncio
import mmap
import socket
import ssl
from collections import Counter
from collections.abc import Callable
from typing import Any

from petservice.server.limits import MAX_CONNECTIONS_OF_ADDRESS
from petservice.server.priority import KNOWN, STRANGER

# Workers are counted in this many slots, by their age: no two that run at the same time share one, save after many
# restarts; then these two count wrongly.
SLOTS = 64
# Seconds between two looks of a worker that has more connections than another and leaves the next one to that.
DEFERRAL_INTERVAL = 0.001
# Seconds after which such a worker accepts all the same.
MAX_DEFERRAL = 0.02
# Seconds for which it then accepts whatever comes.
NO_DEFERRAL = 0.2


class WorkerSlot:
    """The number of connections that one worker has, in memory that all workers share."""

    def __init__(self, counts: memoryview, slot: int) -> None:
        self._counts = counts
        self._slot = slot

    def note(self, connections: int | None) -> None:
        """Tell the other workers how many connections this one has, or None if it accepts no more."""
        # Zero stands for a worker that accepts none, and for none at all.
        self._counts[self._slot] = 0 if connections is None else connections + 1

    def has_more_than_another(self) -> bool:
        """Return whether another worker that accepts connections has fewer."""
        own = self._counts[self._slot]
        return any(0 < count < own for count in self._counts.tolist())


class Balancer:
    """The slots of all workers, made by the master process before the workers begin as copies of it."""

    def __init__(self) -> None:
        self._counts = memoryview(mmap.mmap(-1, SLOTS * 8)).cast("Q")

    def slot(self, age: int) -> WorkerSlot:
        """Return the slot of the worker with this age, the number that the master has started before it."""
        return WorkerSlot(self._counts, age % SLOTS)


class Acceptor:
    """Accepts the connections of one worker, up to a limit; further ones are left to other workers or to the kernel."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        listeners: list[socket.socket],
        slot: WorkerSlot,
        limit: int,
        connect: Callable[[], asyncio.Protocol],
        log: Any,
        *,
        tls: ssl.SSLContext | None,
        tls_timeout: float,
        set_kind: Callable[[int, str], None],  # of the client that a socket belongs to
        is_proxy: Callable[[str], bool],
    ) -> None:
        self._loop = loop
        self._listeners = listeners
        self._slot = slot
        self._limit = limit
        self._connect = connect
        self._log = log
        self._tls = tls
        self._tls_timeout = tls_timeout if tls else None
        # Sets the kind of client that a socket belongs to.
        self._set_kind = set_kind
        self._is_proxy = is_proxy
        # The address of each connection, by its socket, and how many connections each address has.
        self._addresses: dict[int, str] = {}
        self._of_address: Counter[str] = Counter()
        # Connections that have been accepted; a TLS handshake counts, too.
        self.open = 0
        self._is_stopped = False
        self._is_watching = False
        # While this worker leaves connections to another: when it looks again, and since when.
        self._deferral: asyncio.TimerHandle | None = None
        self._deferring_since: float | None = None
        self._no_deferral_until = 0.0
        self._handshakes: set[asyncio.Task[None]] = set()
        for listener in listeners:
            listener.setblocking(False)

    def listen(self) -> None:
        """Accept connections if there is room for any."""
        has_room = not self._is_stopped and self.open < self._limit
        self._slot.note(self.open if has_room else None)
        self._watch(has_room and self._deferral is None)

    def stop(self) -> None:
        """Accept no more connections."""
        self._is_stopped = True
        self.listen()

    def connection_ended(self, descriptor: int) -> None:
        """Make room for another connection, after the one with this socket."""
        self._set_kind(descriptor, KNOWN)  # the number may be that of any other socket or file from now on
        address = self._addresses.pop(descriptor, "")
        self._of_address[address] -= 1
        if self._of_address[address] <= 0:
            del self._of_address[address]
        self.open -= 1
        if self._deferral is not None:  # this worker may be the one with the fewest by now
            self._deferral.cancel()
            self._deferral = None
        self.listen()

    def _watch(self, watches: bool) -> None:
        if watches != self._is_watching:
            self._is_watching = watches
            for listener in self._listeners:
                if watches:
                    self._loop.add_reader(listener, self._accept, listener)
                else:
                    self._loop.remove_reader(listener)

    def _accept(self, listener: socket.socket) -> None:
        if self._defers():
            return
        try:
            # One at a time: a worker that took all that wait would have more than its share.
            accepted, peer = listener.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return
        except OSError as error:  # too many open files, for example; the worker listens again within a second
            self._log.error("No connection could be accepted: %s", error)
            self._slot.note(None)
            self._watch(False)
            return
        address = peer[0] if isinstance(peer, tuple) else ""  # of a unix socket
        if self._of_address[address] >= MAX_CONNECTIONS_OF_ADDRESS and address and not self._is_proxy(address):
            accepted.close()
            return
        self._addresses[accepted.fileno()] = address
        self._of_address[address] += 1
        accepted.setblocking(False)
        self._set_kind(accepted.fileno(), STRANGER)  # until its first request
        self.open += 1
        self.listen()
        handshake = self._loop.create_task(self._begin(accepted))
        self._handshakes.add(handshake)
        handshake.add_done_callback(self._handshakes.discard)

    def _defers(self) -> bool:
        """Leave the connection that waits to a worker that has fewer, for MAX_DEFERRAL at most."""
        now = self._loop.time()
        if now < self._no_deferral_until or not self._slot.has_more_than_another():
            self._deferring_since = None
            return False
        if self._deferring_since is None:
            self._deferring_since = now
        elif now - self._deferring_since >= MAX_DEFERRAL:
            # The other worker is too busy or hangs, so the next connections need not wait for it one by one.
            self._no_deferral_until = now + NO_DEFERRAL
            self._deferring_since = None
            return False
        self._deferral = self._loop.call_later(DEFERRAL_INTERVAL, self._look_again)
        self._watch(False)
        return True

    def _look_again(self) -> None:
        self._deferral = None
        self.listen()

    async def _begin(self, accepted: socket.socket) -> None:
        descriptor = accepted.fileno()
        try:
            await self._loop.connect_accepted_socket(
                self._connect, accepted, ssl=self._tls, ssl_handshake_timeout=self._tls_timeout
            )
        except (OSError, asyncio.CancelledError):  # no TLS, or gone before the handshake
            accepted.close()
            self.connection_ended(descriptor)
