"""How database calls wait: they block their thread, unless the server provides a waiter that lets other requests run.

A database call finds its waiter in a context variable. Commands, tests and plain gunicorn set none.
"""

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar

# The socket events that a call can wait for, with psycopg's values.
READ, WRITE = 1, 2

T = TypeVar("T")


class Waiter(Protocol):
    """An object that suspends one call while other calls run on the same event loop."""

    loop: asyncio.AbstractEventLoop
    # Whether the call has timed out. It must not send further statements.
    has_timed_out: bool

    def wait_for_socket(self, descriptor: int, wanted: int) -> int:
        """Suspend the call until the socket is ready for one of the wanted events, READ and WRITE.

        Returns the event, or 0 if the call has timed out.
        """

    def wait_for_thread(self, function: Callable[[], T]) -> T:
        """Run a function on a thread, suspend the call until it ends, and return its result or raise its error."""

    def wait(self, start: Callable[[Callable[..., None]], object]) -> Any:
        """Pass a callback to `start`, suspend the call until the callback is called, and return its argument."""


waiter: ContextVar[Waiter | None] = ContextVar("waiter", default=None)

# Seconds that a call without a waiter waits for the response to a statement, a little more than PostgreSQL lets the
# statement of a page run. A new thread starts with it.
PAGE_TIMEOUT = 21.0
# The time limit of statements without a waiter, or None. Management commands have none.
time_limit: ContextVar[float | None] = ContextVar("time_limit", default=PAGE_TIMEOUT)
