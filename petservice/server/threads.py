"""Thread pools for slow requests: pages, the readiness check, and transactions on SQLite."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from threading import get_ident
from typing import TypeVar

from petservice.monitoring.access_log import current_record
from petservice.monitoring.counters import count

T = TypeVar("T")


class ThreadPool:
    """A ThreadPoolExecutor that reports how busy it is."""

    def __init__(self, name: str, size: int) -> None:
        self._name = name
        self.size = size
        self._executor = ThreadPoolExecutor(size, thread_name_prefix=name)
        # The start time of each running call, on the monotonic clock, by its thread.
        self._started: dict[int, float] = {}
        self._pending = 0

    async def call(self, function: Callable[[], T]) -> T:
        """Run a function on a thread, and return its result or raise its error.

        If the caller is cancelled, a function that has not begun never does, and one that has begun runs to its end.
        """
        future = self._executor.submit(copy_context().run, self._run, function, time.monotonic())
        self._pending += 1
        future.add_done_callback(self._done)
        return await asyncio.wrap_future(future)

    @property
    def is_busy(self) -> bool:
        """Whether a call runs or waits for a thread."""
        return self._pending > 0

    @property
    def in_use(self) -> int:
        """The number of threads that run a call."""
        return len(self._started)

    def stalled_for(self) -> float:
        """Return for how many seconds the oldest running call has been running, or 0."""
        now = time.monotonic()
        return max((now - started for started in list(self._started.values())), default=0.0)

    def _run(self, function: Callable[[], T], submitted: float) -> T:
        now = self._started[get_ident()] = time.monotonic()
        count("queued", self._name)
        count("queue_seconds", self._name, now - submitted)
        if (record := current_record.get()) is not None:
            record.queue_seconds += now - submitted
        try:
            return function()
        finally:
            del self._started[get_ident()]

    def _done(self, _: object) -> None:
        self._pending -= 1
