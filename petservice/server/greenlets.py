"""Greenlets that run API requests on the event loop's thread and are suspended while they wait for the database.

With threads instead, a POST takes twice the CPU on SQLite. With PostgreSQL on the same machine, any request takes up to
half more. Two threads compete for Python's global interpreter lock at every statement.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context
from typing import Any, TypeVar, cast

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from greenlet import greenlet

from petservice.db.waiting import READ, WRITE, waiter
from petservice.server.limits import MAX_QUEUED

T = TypeVar("T")


class GreenletPool:
    """A pool of a fixed number of greenlets. Further calls queue, up to MAX_QUEUED.

    A call waits at most `timeout` seconds in the queue, and at most as long for the database once it runs.
    """

    def __init__(self, size: int, timeout: float = 5) -> None:
        self._timeout = timeout
        self.size = size
        first = _connection()
        self._greenlets = [
            PooledGreenlet(self, first if first.statements_block or number == 0 else _connection())
            for number in range(size)
        ]
        self._free = self._greenlets.copy()
        self._queue: deque[asyncio.Future[PooledGreenlet]] = deque()
        # One timer for all suspended calls, because nearly all end long before their deadline.
        self._timer: asyncio.TimerHandle | None = None

    @property
    def in_use(self) -> int:
        """The number of greenlets that have a call."""
        return self.size - len(self._free)

    async def call(self, function: Callable[[], T]) -> T:
        """Run a function and return its result or raise its error. It runs to its end even if the caller is cancelled.

        Raises TimeoutError if the database takes too long, or if so many calls wait that it would.
        """
        free = self._free.pop() if self._free else await self._next_free()
        outcome = free.begin(function)
        if outcome is None:
            # The deadline belongs to the greenlet, because the call must also end if its caller is cancelled.
            free.deadline = free.loop.time() + self._timeout
            if self._timer is None:
                self._timer = free.loop.call_at(free.deadline, self._time_out_overdue)
            outcome = await free.ended
        value, error = outcome
        if error is not None:
            raise error
        return cast(T, value)

    async def _next_free(self) -> "PooledGreenlet":
        """Wait until earlier calls have their greenlets, and return the next free one."""
        if len(self._queue) >= MAX_QUEUED:
            raise TimeoutError(f"{MAX_QUEUED} calls wait for the database already.")
        turn: asyncio.Future[PooledGreenlet] = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        try:
            async with asyncio.timeout(self._timeout):
                return await turn
        except BaseException as error:
            if turn.done() and not turn.cancelled():  # the greenlet came at the same time as the timeout
                self.release(turn.result())
            else:
                with suppress(ValueError):  # release has already removed it
                    self._queue.remove(turn)
            if isinstance(error, TimeoutError):
                raise TimeoutError("The database has not answered earlier calls in time.") from None
            raise

    def release(self, released: "PooledGreenlet") -> None:
        """Give a greenlet to the next call in the queue."""
        while self._queue:
            turn = self._queue.popleft()
            if not turn.done():
                turn.set_result(released)
                return
        self._free.append(released)

    def _time_out_overdue(self) -> None:
        loop = asyncio.get_running_loop()
        for one in self._greenlets:
            if one.deadline is not None and one.deadline <= loop.time():
                one.time_out()
        deadlines = [one.deadline for one in self._greenlets if one.deadline is not None]
        self._timer = loop.call_at(min(deadlines), self._time_out_overdue) if deadlines else None

    def close(self) -> None:
        """Close the connections of the free greenlets. No call may follow."""
        for free in self._free.copy():
            self._free.remove(free)
            free.begin(free.connection.close)


def _connection() -> Any:
    connection: Any = connections.create_connection(DEFAULT_DB_ALIAS)
    connection.serves_event_loop = True
    return connection


Outcome = tuple[Any, BaseException | None]


class PooledGreenlet(greenlet):
    """A greenlet that runs one call after the other, in one context and with one database connection.

    It is the waiter (petservice.db.waiting) of the code that it runs.
    """

    loop: asyncio.AbstractEventLoop
    # The future for the outcome of a suspended call.
    ended: asyncio.Future[Outcome]
    # The time at which a suspended call times out, on the loop's clock.
    deadline: float | None = None

    def __init__(self, pool: GreenletPool, connection: BaseDatabaseWrapper) -> None:
        super().__init__(self._run)
        context = Context()
        context.run(waiter.set, self)
        self.gr_context = context
        self.connection = connection
        self._pool = pool
        self._function: Callable[[], Any]
        self._outcome: Outcome | None = None
        # The socket and the events that the call waits for, or None.
        self._socket: tuple[int, int] | None = None
        self.has_timed_out = False

    def begin(self, function: Callable[[], Any]) -> Outcome | None:
        """Run a function and return its outcome, or None if it is suspended and `ended` will get the outcome."""
        self.loop = asyncio.get_running_loop()
        self._function, self._outcome, self.has_timed_out = function, None, False
        if not self._step():
            self.ended = self.loop.create_future()
        return self._outcome

    def resume(self, *result: Any) -> None:
        """Run a suspended call until it is suspended again, or ends."""
        ended = self.ended
        if self._step(*result) and not ended.done():  # the caller may have been cancelled
            ended.set_result(cast(Outcome, self._outcome))

    def time_out(self) -> None:
        """End a suspended call with TimeoutError or the driver's error, and ignore a response that comes later."""
        ended = self.ended
        self.deadline = None
        self.has_timed_out = True
        if self._socket is not None:
            self._ready(*self._socket, 0)
        if not ended.done():
            ended.set_exception(TimeoutError("The database has not answered in time."))

    def _step(self, *result: Any) -> bool:
        # Django refuses to work in a thread with a running loop. The loop stands until the call is suspended or ends.
        asyncio._set_running_loop(None)
        connections[DEFAULT_DB_ALIAS] = self.connection
        try:
            self.switch(*result)
        finally:
            asyncio._set_running_loop(self.loop)
        has_ended = self._outcome is not None
        if has_ended:
            self.deadline = None
            self._pool.release(self)
        return has_ended

    def _run(self) -> None:
        while True:
            try:
                self._outcome = self._function(), None
            except BaseException as error:
                self._outcome = None, error
            self._suspend()

    def _suspend(self) -> Any:
        """Let the loop continue until it resumes this greenlet, and return what it passes."""
        return self.parent.switch()  # type: ignore[union-attr]  # a started greenlet has a parent

    # The following methods are those of petservice.db.waiting.Waiter.

    def wait_for_socket(self, descriptor: int, wanted: int) -> int:
        if self.has_timed_out:
            return 0
        self._socket = descriptor, wanted
        # Always, because psycopg waits only to write while it connects or copies, and neither is done in a greenlet.
        self.loop.add_reader(descriptor, self._ready, descriptor, wanted, READ)
        if wanted & WRITE:
            self.loop.add_writer(descriptor, self._ready, descriptor, wanted, WRITE)
        ready: int = self._suspend()
        return ready

    def _ready(self, descriptor: int, wanted: int, ready: int) -> None:
        self.loop.remove_reader(descriptor)
        if wanted & WRITE:
            self.loop.remove_writer(descriptor)
        self._socket = None
        self.resume(ready)

    def wait_for_thread(self, function: Callable[[], T]) -> T:
        outcome = self.loop.run_in_executor(None, function)
        self.wait(lambda resume: outcome.add_done_callback(lambda _: resume()))
        return outcome.result()

    def wait(self, start: Callable[[Callable[..., None]], object]) -> Any:
        start(self.resume)
        return self._suspend()
