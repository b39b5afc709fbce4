"""What one client may have under way at a time in a worker, and all clients together.

Without it, sixty logins at once keep everybody's pages waiting for seconds, and a few uploads that trickle in fill the
disk.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager


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
