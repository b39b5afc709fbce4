"""What one client may have under way at a time in a worker, and all clients together.

Without it, sixty logins at once keep everybody's pages waiting for seconds, and a few uploads that trickle in fill the
disk.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

# Logins, also those that wait for a thread, and how many of them check a password at a time: fewer than there are
# threads for pages, so that these never wait for passwords.
MAX_LOGINS = 8
MAX_LOGINS_OF_ADDRESS = 4
CONCURRENT_LOGINS = 2
# Bodies of more than MAX_FORM_BYTES, which are kept in a temporary file each until their request has ended.
MAX_UPLOADS = 8
MAX_UPLOADS_OF_ACCOUNT = 2
# Bytes of a body to a page of which nobody knows who sends it: forms, such as that for the login.
MAX_FORM_BYTES = 64 * 1024
# Bytes that staff may upload at most. Django limits what is not a file further.
MAX_UPLOAD_BYTES = 128 * 1024 * 1024


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
