"""Admission control: how many requests one client, all clients, and clients without a key may have in progress.

Without this module, sixty simultaneous logins delay all pages by seconds, and a few slow uploads fill the disk. Two
hundred clients without a key delay all others.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

from petservice.server.limits import (
    CONCURRENT_LOGINS,
    CONCURRENT_STRANGERS,
    FAILED_LOGIN_PAUSE,
    MAX_KNOWN_CLIENTS,
    MAX_LOGINS,
    MAX_LOGINS_OF_ADDRESS,
)
from petservice.server.messages import Response


class BusyError(Exception):
    """The error that a client, or all clients together, have reached their limit."""


class Places:
    """A limited number of slots, of which each client may have some."""

    def __init__(self, number: int, of_a_client: int) -> None:
        self._number = number
        self._of_a_client = of_a_client
        self._taken: Counter[object] = Counter()

    @contextmanager
    def take(self, client: object) -> Iterator[None]:
        """Return a context in which a client has a slot. Raises BusyError if it may not have another one."""
        if self._taken[client] >= self._of_a_client or self._taken.total() >= self._number:
            raise BusyError
        self._taken[client] += 1
        try:
            yield
        finally:
            self._taken[client] -= 1
            self._taken += Counter()  # drops clients without a slot


class Logins(Places):
    """The logins in progress or waiting, of which CONCURRENT_LOGINS are checked at the same time."""

    def __init__(self) -> None:
        super().__init__(MAX_LOGINS, MAX_LOGINS_OF_ADDRESS)
        self._checks = asyncio.Semaphore(CONCURRENT_LOGINS)

    async def check(self, address: str, check: Callable[[], Awaitable[Response]]) -> Response:
        """Return the response of `check`. If it is no redirect to a page, the next login has to wait for a pause.

        Raises BusyError if too many logins are in progress, in all or from this address.
        """
        with self.take(address):
            await self._checks.acquire()
            pause: float = FAILED_LOGIN_PAUSE
            try:
                response = await check()
                if response[0] == 302:
                    pause = 0
            finally:
                asyncio.get_running_loop().call_later(pause, self._checks.release)
            return response


class Turns:
    """A queue for strangers, in which the addresses that wait take turns.

    The work of each turn begins in a new step of the event loop, so that other clients are served in between.
    """

    def __init__(self, number: int = CONCURRENT_STRANGERS) -> None:
        self._free = number
        # Waiting requests by address. The address that had the latest turn is the last one.
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    @asynccontextmanager
    async def take(self, address: str, timeout: float | None = None) -> AsyncIterator[None]:
        """Return a context in which a client has a turn. Raises TimeoutError if it waits longer than `timeout`."""
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
            if turn.done() and not turn.cancelled():  # the turn came at the same time as the timeout
                self._pass_on()
            else:
                with suppress(ValueError):  # _pass_on has already removed it
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


class KnownClients(dict[int | None, None]):
    """A set of credentials that were valid at their last request, as hashes, up to MAX_KNOWN_CLIENTS.

    It only decides which requests queue with those of strangers. Each request is still authenticated in full.
    """

    def note(self, credential: int | None) -> None:
        """Add the client of a request whose key or session was valid."""
        if credential is not None:
            self[credential] = None
            if len(self) > MAX_KNOWN_CLIENTS:
                del self[next(iter(self))]

    def forget(self, credential: int | None) -> None:
        """Remove the client of a request whose key or session was refused."""
        self.pop(credential, None)
