"""Writes of several requests in one transaction, because each commit waits for the disk."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

# A function that writes some rows together, and returns what the request of each gets.
Write = Callable[[list[Any]], Awaitable[Sequence[Any]]]


class SharedWrites:
    """A queue of rows, of which those that wait at the same time are written together."""

    def __init__(self, write: Write, *, at_once: int, gathering_interval: float = 0.0) -> None:
        """Call `write` so often at once, each time with all rows that wait, of which one has waited for so long."""
        self._write, self._at_once, self._gathering_interval = write, at_once, gathering_interval
        self._waiting: list[tuple[Any, asyncio.Future[Any]]] = []
        # Those that write while something waits.
        self._tasks: set[asyncio.Task[None]] = set()

    async def add(self, row: Any) -> Any:
        """Return what `write` returns for a row, or raise the error of its transaction."""
        loop = asyncio.get_running_loop()
        future = loop.create_future()
        self._waiting.append((row, future))
        if len(self._tasks) < self._at_once:
            self._tasks.add(loop.create_task(self._write_waiting()))
        return await future

    async def _write_waiting(self) -> None:
        while self._waiting:
            if self._gathering_interval:
                await asyncio.sleep(self._gathering_interval)
            together, self._waiting = self._waiting, []
            try:
                outcomes = await self._write([row for row, _ in together])
            except Exception as error:  # each request must get a response
                outcomes = [error] * len(together)
            for (_, future), outcome in zip(together, outcomes, strict=True):
                if future.done():  # its client has left
                    continue
                if isinstance(outcome, Exception):
                    future.set_exception(outcome)
                else:
                    future.set_result(outcome)
        # Not by a callback, which would run later than a row can be added.
        self._tasks.discard(asyncio.current_task())
