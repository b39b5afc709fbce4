"""Calls of synchronous code on the event loop itself, which let others go on while they wait for PostgreSQL.

A call on a thread costs more than what most calls do: two threads take the interpreter's lock from each other at every
statement. Here calls run on the loop's thread, in greenlets; one that would wait hands the thread back.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context
from functools import partial
from typing import Any, TypeVar, cast

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from greenlet import getcurrent, greenlet

READ, WRITE = 1, 2

# Calls that may wait for a lane: as many as a worker has connections, so any beyond are of clients that have left.
QUEUE = 1000

T = TypeVar("T")


class Lanes:
    """A fixed number of lanes, for as many calls at a time; further calls queue, up to QUEUE.

    Nobody waits for the database for more than `patience` seconds: neither in the queue nor for a call that has begun.
    """

    def __init__(self, number: int, patience: float = 5) -> None:
        self._patience = patience
        self.number = number
        create = partial(connections.create_connection, DEFAULT_DB_ALIAS)
        first = create()
        # SQLite is never waited for here, so one connection does for all.
        is_shared = first.vendor == "sqlite"
        self._lanes = [Lane(self, first if is_shared or lane == 0 else create()) for lane in range(number)]
        self._free = self._lanes.copy()
        self._queue: deque[asyncio.Future[Lane]] = deque()
        # The next look at how long calls have been waiting; one for all of them, as nearly all end long before.
        self._look: asyncio.TimerHandle | None = None

    @property
    def in_use(self) -> int:
        """In how many lanes a call runs or waits."""
        return self.number - len(self._free)

    async def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What `function` returns or raises. It runs to its end, even if nobody waits for that any more.

        Raises TimeoutError if the database takes too long, or if so many calls wait that it would.
        """
        lane = self._free.pop() if self._free else await self._turn()
        outcome = lane.begin(partial(function, *arguments))
        if outcome is None:
            # Not ended with the wait for the outcome: whoever waits may leave, and the call must still get to its end.
            lane.due = lane.loop.time() + self._patience
            if self._look is None:
                self._look = lane.loop.call_at(lane.due, self._give_up_overdue)
            outcome = await lane.ended
        value, error = outcome
        if error is not None:
            raise error
        return value

    async def _turn(self) -> "Lane":
        """The lane that is free when all calls that came before have theirs."""
        if len(self._queue) >= QUEUE:
            raise TimeoutError(f"{QUEUE} calls wait for the database already.")
        turn: asyncio.Future[Lane] = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        try:
            async with asyncio.timeout(self._patience):
                return await turn
        except BaseException as error:
            if turn.done() and not turn.cancelled():  # it came just as the wait for it ended
                self.release(turn.result())
            else:
                with suppress(ValueError):  # release has found it already
                    self._queue.remove(turn)
            if isinstance(error, TimeoutError):
                raise TimeoutError("The database has not answered in time those who came before.") from None
            raise

    def release(self, lane: "Lane") -> None:
        """Let the next call have `lane`."""
        while self._queue:
            turn = self._queue.popleft()
            if not turn.done():
                turn.set_result(lane)
                return
        self._free.append(lane)

    def _give_up_overdue(self) -> None:
        loop = asyncio.get_running_loop()
        for lane in self._lanes:
            if lane.due is not None and lane.due <= loop.time():
                lane.give_up()
        due = [lane.due for lane in self._lanes if lane.due is not None]
        self._look = loop.call_at(min(due), self._give_up_overdue) if due else None

    def close(self) -> None:
        """Close the connections of the lanes in which nothing runs; no call may follow."""
        for lane in self._free.copy():
            self._free.remove(lane)
            lane.begin(lane.connection.close)


Outcome = tuple[Any, BaseException | None]


class Lane(greenlet):
    """Runs one call after the other, all in one context and with one connection to the database."""

    loop: asyncio.AbstractEventLoop
    # Gets the outcome of a call that has had to wait.
    ended: asyncio.Future[Outcome]
    # When a call that waits has waited for too long, on the loop's clock.
    due: float | None = None

    def __init__(self, lanes: Lanes, connection: BaseDatabaseWrapper) -> None:
        super().__init__(self._run)
        self.gr_context = Context()
        self.connection = connection
        self._lanes = lanes
        self._function: Callable[[], Any]
        self._outcome: Outcome | None = None
        # The socket for which a call waits, and for what; None while it does not.
        self._socket: tuple[int, int] | None = None
        # Whether the call has taken too long; whatever it asks of the database from then on fails.
        self.has_given_up = False

    def begin(self, function: Callable[[], Any]) -> Outcome | None:
        """The outcome of `function`, or None if it has to wait; then `ended` gets it."""
        self.loop = asyncio.get_running_loop()
        self._function, self._outcome, self.has_given_up = function, None, False
        if not self._step():
            self.ended = self.loop.create_future()
        return self._outcome

    def go_on(self, *waited_for: Any) -> None:
        """Run a call that has had to wait until it has to wait again, or ends."""
        ended = self.ended
        if self._step(*waited_for) and not ended.done():  # or nobody waits for it any more
            ended.set_result(cast(Outcome, self._outcome))

    def give_up(self) -> None:
        """End the call that waits with TimeoutError. What it waits for may still come; then it ends without a word."""
        ended = self.ended
        self.due = None
        self.has_given_up = True
        if self._socket is not None:
            self._ready(*self._socket, 0)
        if not ended.done():
            ended.set_exception(TimeoutError("The database has not answered in time."))

    def _step(self, *waited_for: Any) -> bool:
        # Django refuses to work in a thread whose loop runs. This one does not get on until the call gives way.
        asyncio._set_running_loop(None)
        connections[DEFAULT_DB_ALIAS] = self.connection
        try:
            self.switch(*waited_for)
        finally:
            asyncio._set_running_loop(self.loop)
        has_ended = self._outcome is not None
        if has_ended:
            self.due = None
            self._lanes.release(self)
        return has_ended

    def _run(self) -> None:
        while True:
            try:
                self._outcome = self._function(), None
            except BaseException as error:
                self._outcome = None, error
            self._give_way()

    def _give_way(self) -> Any:
        """Let the loop go on until it goes on with this; gives what it brings."""
        return self.parent.switch()  # type: ignore[union-attr]  # it has begun, so it has a parent

    # In the call.

    def wait_for_socket(self, descriptor: int, wanted: int) -> int:
        """Give way until the socket can be read or written, whatever of READ and WRITE is `wanted`; says which.

        Neither, 0, once the call has taken too long.
        """
        if self.has_given_up:
            return 0
        self._socket = descriptor, wanted
        if wanted & READ:
            self.loop.add_reader(descriptor, self._ready, descriptor, wanted, READ)
        if wanted & WRITE:
            self.loop.add_writer(descriptor, self._ready, descriptor, wanted, WRITE)
        ready: int = self._give_way()
        return ready

    def _ready(self, descriptor: int, wanted: int, ready: int) -> None:
        if wanted & READ:
            self.loop.remove_reader(descriptor)
        if wanted & WRITE:
            self.loop.remove_writer(descriptor)
        self._socket = None
        self.go_on(ready)

    def wait_for_thread(self, function: Callable[[], T]) -> T:
        """What `function` returns or raises on a thread of its own; gives way meanwhile."""
        outcome = self.loop.run_in_executor(None, function)
        self.wait(lambda go_on: outcome.add_done_callback(lambda _: go_on()))
        return outcome.result()

    def wait(self, begin: Callable[[Callable[..., None]], object]) -> Any:
        """Give way until what `begin` is given has been called, on the loop; returns what it was called with."""
        begin(self.go_on)
        return self._give_way()


def current_lane() -> Lane | None:
    """The lane in which this is called, if it is."""
    current = getcurrent()
    return current if isinstance(current, Lane) else None
