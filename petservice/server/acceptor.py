"""The acceptance of connections by one worker, up to limits in all and from one address.

Without this module, one worker may get both of two clients, which then wait for each other while the other is idle.
"""

import socket
from collections import Counter
from functools import partial
from select import POLLIN, poll
from typing import Any

from petservice.client_address import Address, Proxies, network_of, parse_address
from petservice.monitoring.counters import count
from petservice.server import limits
from petservice.server.connection import Connection

# Seconds for which a worker leaves a new connection to the others, for each connection that it has, and at most. So the
# worker with the fewest connections takes it, and no worker waits long for another that is busy.
DEFERRAL = 0.001
MAX_DEFERRAL = 0.005
# A worker with many connections accepts several at once, one for each of these many. Between two turns of its event
# loop, all requests that have arrived on busy connections are handled, and each new client would wait for them.
_CONNECTIONS_PER_ACCEPTED = 8
# Each of these many turns in succession that leave connections waiting shortens the next ones: to a half, a third, ...
# Clients that connect more often than the workers take turns would otherwise keep all new ones waiting. One burst of
# hundreds of connections takes fewer turns, and is split evenly.
_LATE_TURNS = 40


class Acceptor:
    """An acceptor of one worker's connections. Those beyond its limit wait in the kernel or go to other workers."""

    def __init__(self, worker: Any, proxies: Proxies) -> None:
        """Create the acceptor of an EventLoopWorker. Connections of these proxies are not limited."""
        self._worker = worker
        self._proxies = proxies
        self._listeners = [listener.sock for listener in worker.sockets]
        self._of_address: Counter[Address | None] = Counter()
        # Number of accepted connections, including those in their TLS handshake.
        self.open = 0
        # The listeners with a connection that this worker leaves to the others for a moment.
        self._deferred: set[socket.socket] = set()
        self._handshakes: set[Any] = set()
        # The number of turns in succession that have left connections waiting.
        self._late_turns = 0

    def listen(self) -> None:
        """Begin to accept connections, or pause if the limit is reached."""
        for listener in self._listeners:
            if self._may_accept():
                if listener not in self._deferred:
                    self._worker.loop.add_reader(listener, self._defer, listener)
            else:
                self._worker.loop.remove_reader(listener)

    def close(self) -> None:
        """Stop accepting. The kernel would still do so, and its clients would wait until this process ends."""
        for listener in self._listeners:
            self._worker.loop.remove_reader(listener)
            listener.close()
        self._listeners.clear()

    def _may_accept(self) -> bool:
        return self.open < self._worker.cfg.worker_connections and not self._worker.is_stopping

    def _defer(self, listener: socket.socket) -> None:
        self._worker.loop.remove_reader(listener)
        self._deferred.add(listener)
        deferral = min(self.open * DEFERRAL, MAX_DEFERRAL) / (1 + self._late_turns // _LATE_TURNS)
        self._worker.loop.call_later(deferral, self._accept, listener)

    def _accept(self, listener: socket.socket) -> None:
        self._deferred.discard(listener)
        try:
            for _ in range(1 + self.open // _CONNECTIONS_PER_ACCEPTED):
                if not self._may_accept():
                    break
                self._accepted(*listener.accept())
            else:
                waiting = poll()
                waiting.register(listener, POLLIN)
                self._late_turns = self._late_turns + 1 if waiting.poll(0) else 0
                if self._late_turns:  # the next turn finds out whether another worker has the rest
                    self._defer(listener)
        except (BlockingIOError, ConnectionAbortedError):
            self._late_turns = 0  # another worker has it
        except OSError as error:  # for example too many open files; the worker tries again within a second
            self._worker.log.error("No connection could be accepted: %s", error)
            return
        self.listen()

    def _accepted(self, accepted: socket.socket, peer: Any) -> None:
        client = peer[:2] if isinstance(peer, tuple) else None  # a unix socket has no address
        host = client[0] if client else None
        address = parse_address(host) if host else None
        address = network_of(address) if address else None
        if self._of_address[address] >= limits.MAX_CONNECTIONS_OF_ADDRESS and not self._proxies.trusts(host):
            count("refusals", "connections_of_address")
            accepted.close()
            return
        self.open += 1
        self._of_address[address] += 1
        handshake = self._worker.loop.create_task(self._begin(accepted, client, partial(self._ended, address)))
        self._handshakes.add(handshake)
        handshake.add_done_callback(self._handshakes.discard)

    async def _begin(self, accepted: socket.socket, client: Any, ended: Any) -> None:
        try:
            await self._worker.loop.connect_accepted_socket(
                partial(Connection, self._worker, client, ended),
                accepted,
                ssl=self._worker.app.tls,
                ssl_handshake_timeout=limits.REQUEST_TIMEOUT if self._worker.app.tls else None,
            )
        except OSError:  # not TLS, or disconnected before the handshake
            accepted.close()
            ended()

    def _ended(self, address: Address | None) -> None:
        """Count a connection of an address as ended."""
        self.open -= 1
        self._of_address[address] -= 1
        if not self._of_address[address]:
            del self._of_address[address]
        self.listen()
