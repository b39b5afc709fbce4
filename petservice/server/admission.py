"""Who may have work under way at a time in a worker: one client, all clients together, and strangers.

Without it, sixty logins at once keep everybody's pages waiting for seconds, a few uploads that trickle in fill the
disk, and two hundred clients without a key keep all others waiting.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

from petservice.server.limits import CONCURRENT_STRANGERS, MAX_KNOWN_CLIENTS


class BusyError(Exception):
    """A client, or all together, have as much under way as they may."""


class Places:
    """A number of places, of which each client may have some."""

    def __init__(self, number: int, of_a_client: int) -> None:
        self._number = number
        self._of_a_client = of_a_client
        self._taken: Counter[object] = Counter()

    @contextmanager
    def take(self, client: object) -> Iterator[None]:
        """Return a context in which a client has a place; raises BusyError if it may not have another."""
        if self._taken[client] >= self._of_a_client or self._taken.total() >= self._number:
            raise BusyError
        self._taken[client] += 1
        try:
            yield
        finally:
            self._taken[client] -= 1
            self._taken += Counter()  # forget whoever has none


class Turns:
    """A queue in which strangers wait for each other: each address that waits has a turn after the other.

    What follows a turn begins in another step of the event loop, so the loop serves all others in between.
    """

    def __init__(self, number: int = CONCURRENT_STRANGERS) -> None:
        self._free = number
        # Those that wait, by address. The address that had a turn last is at the end.
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    @asynccontextmanager
    async def take(self, address: str, timeout: float | None = None) -> AsyncIterator[None]:
        """Return a context in which a client has a turn; raises TimeoutError if it has to wait too long for it."""
        if self._free:
            self._free -= 1
        else:
            await self._wait(address, timeout)
        try:
            yield
        finally:
            self._pass_on()

    async def _wait(self, address: str, timeout: float | None) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue = self._waiting.setdefault(address, deque())
        queue.append(turn)
        try:
            async with asyncio.timeout(timeout):
                await turn
        except BaseException:
            if turn.done() and not turn.cancelled():  # it came just as the wait for it ended
                self._pass_on()
            else:
                with suppress(ValueError):  # the turn has been passed over already
                    queue.remove(turn)
                if not queue and self._waiting.get(address) is queue:
                    del self._waiting[address]
            raise

    def _pass_on(self) -> None:
        while self._waiting:
            address = next(iter(self._waiting))
            queue = self._waiting.pop(address)
            turn = queue.popleft()
            if queue:
                self._waiting[address] = queue
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1


class KnownClients:
    """The keys and sessions that were valid at their last request: only their hashes, up to MAX_KNOWN_CLIENTS.

    This decides who waits with strangers, and nothing else: each request is authenticated in full.
    """

    def __init__(self) -> None:
        self._hashes: dict[int, None] = {}

    def __contains__(self, credential: str | None) -> bool:
        return hash(credential) in self._hashes

    def note(self, credential: str | None) -> None:
        """Remember the client of a request whose key or session was valid."""
        if credential is not None and credential not in self:
            self._hashes[hash(credential)] = None
            if len(self._hashes) > MAX_KNOWN_CLIENTS:
                del self._hashes[next(iter(self._hashes))]

    def forget(self, credential: str | None) -> None:
        """Forget the client of a request whose key or session was refused."""
        self._hashes.pop(hash(credential), None)
