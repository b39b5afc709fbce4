"""Writes of several requests in one transaction, because each commit waits for the disk."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

# A function that writes some rows together, and returns what the request of each gets.
Write = Callable[[list[Any]], Awaitable[Sequence[Any]]]

# Seconds that a row waits for others to join its transaction. Writing to a disk takes longer than that.
_GATHERING_INTERVAL = 0.001


class SharedWrites:
    """A queue of rows, of which those that wait at the same time are written together, one transaction at a time."""

    def __init__(self, write: Write) -> None:
        """Create a queue that gives `write` all waiting rows, once the first of them has waited for the interval."""
        self._write = write
        self._writing = asyncio.Lock()
        self._waiting: list[Any] = []

    async def add(self, row: Any) -> Any:
        """Return what `write` returns for a row, or raise the error of its transaction."""
        position = len(self._waiting)
        self._waiting.append(row)
        if position == 0:
            self._transaction = asyncio.create_task(self._write_waiting())
            # Otherwise asyncio logs an error that nobody waits for, if all clients have left.
            self._transaction.add_done_callback(lambda done: done.cancelled() or done.exception())
        # If its client leaves, the others wait on.
        return (await asyncio.shield(self._transaction))[position]

    async def _write_waiting(self) -> Sequence[Any]:
        async with self._writing:
            await asyncio.sleep(_GATHERING_INTERVAL)
            together, self._waiting = self._waiting, []
            return await self._write(together)
