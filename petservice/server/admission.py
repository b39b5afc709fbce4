"""Admission control: how many logins and uploads one client and all clients may have in progress.

Without this module, sixty simultaneous logins delay all pages by seconds, and a few slow uploads fill the disk.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from petservice.monitoring.counters import count
from petservice.server.limits import (
    CONCURRENT_LOGINS,
    FAILED_LOGIN_PAUSE,
    MAX_LOGINS,
    MAX_LOGINS_OF_ADDRESS,
)
from petservice.server.messages import Response


class BusyError(Exception):
    """The error that a client, or all clients together, have reached their limit."""


class Places:
    """A limited number of slots, of which each client may have some."""

    def __init__(self, name: str, number: int, of_a_client: int) -> None:
        """Create so many slots. `name` is the reason of refusals in the metrics."""
        self._name = name
        self._number = number
        self._of_a_client = of_a_client
        self._taken: Counter[object] = Counter()

    @contextmanager
    def take(self, client: object) -> Iterator[None]:
        """Return a context in which a client has a slot. Raises BusyError if it may not have another one."""
        if self._taken[client] >= self._of_a_client or self._taken.total() >= self._number:
            count("refusals", self._name)
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
        super().__init__("logins_in_progress", MAX_LOGINS, MAX_LOGINS_OF_ADDRESS)
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
