"""How a database call waits: it blocks its thread, unless a server lends it a way to let other calls run meanwhile.

A call finds its waiter in its context. Commands, tests and servers such as plain gunicorn lend none.
"""

import asyncio
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Protocol, TypeVar

# What a call may wait for on a socket; psycopg's values.
READ, WRITE = 1, 2

T = TypeVar("T")


class Waiter(Protocol):
    """Suspends one call while other calls run on the same event loop."""

    loop: asyncio.AbstractEventLoop
    # Whether the call has taken too long; it must not ask the database for anything any more.
    has_timed_out: bool

    def wait_for_socket(self, descriptor: int, wanted: int) -> int:
        """Suspend the call until the socket can be read or written, whichever of READ and WRITE is wanted.

        Returns what is possible, or 0 if the call has taken too long.
        """

    def wait_for_thread(self, function: Callable[[], T]) -> T:
        """Run a function on a thread, suspend the call meanwhile, and return or raise what the function does."""

    def wait(self, start: Callable[[Callable[..., None]], object]) -> Any:
        """Call `start` with a callback, suspend the call until the loop runs the callback, and return its argument."""


waiter: ContextVar[Waiter | None] = ContextVar("waiter", default=None)

# Whether statements may take as long as they need, as those of commands do. A new thread begins without it.
unlimited: ContextVar[bool] = ContextVar("unlimited", default=False)
