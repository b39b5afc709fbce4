"""Inserts into SQLite from the event loop: those that wait while one transaction is committed share the next.

Without it, a service on SQLite creates a quarter to a third of the pets per second, and the slowest wait ten times as
long: SQLite lets in one writer at a time, and each commit waits for the disk. Neither may hold up the loop, so a thread
does it; and since waiting for the disk is most of the work, ten inserts in one transaction cost little more than one.
"""

import asyncio
import threading
from collections.abc import Callable, Sequence
from itertools import groupby
from operator import attrgetter
from queue import SimpleQueue
from typing import Any, NamedTuple

from django.db import IntegrityError, connection

# Seconds in which others may join an insert: a disk takes longer than that to write one.
_GATHERING_INTERVAL = 0.001
# Statements of one transaction: so many that readers and other writers never wait long.
_MAX_INSERTS = 100


Outcome = Exception | None


class _Insert(NamedTuple):
    sql: str
    values: Sequence[Any]
    tell: Callable[[Outcome], None]


class GroupCommit:
    """Gathers inserts on an event loop, and writes them on a thread."""

    def __init__(self) -> None:
        self._waiting: list[_Insert] = []
        self._is_writing = False
        self._batches: SimpleQueue[list[_Insert]] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop

    def insert(
        self, loop: asyncio.AbstractEventLoop, sql: str, values: Sequence[Any], tell: Callable[[Outcome], None]
    ) -> None:
        """Insert, and on the loop `tell` None when it is committed, or else the error for which it is not."""
        if not self._waiting and not self._is_writing:
            self._loop = loop
            loop.call_later(_GATHERING_INTERVAL, self._hand_over)
        self._waiting.append(_Insert(sql, values, tell))

    def _hand_over(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="group-commit", daemon=True)
            self._thread.start()
        self._is_writing = True
        self._batches.put(self._waiting[:_MAX_INSERTS])
        del self._waiting[:_MAX_INSERTS]

    def _report(self, batch: list[_Insert], outcomes: list[Outcome]) -> None:
        self._is_writing = False
        if self._waiting:
            self._loop.call_later(_GATHERING_INTERVAL, self._hand_over)
        for insert, outcome in zip(batch, outcomes, strict=True):
            insert.tell(outcome)

    # On the thread.

    def _work(self) -> None:
        while True:
            batch = self._batches.get()
            # A statement writes to one table.
            groups = groupby(batch, key=attrgetter("sql"))
            outcomes = [outcome for sql, inserts in groups for outcome in _write(sql, [*inserts])]
            self._loop.call_soon_threadsafe(self._report, batch, outcomes)


def _write(sql: str, inserts: list[_Insert]) -> list[Outcome]:
    """Commit `inserts`, which have the same SQL; what became of each."""
    try:
        # In one statement: each takes the interpreter's lock anew, for which this thread may have to wait.
        head, row = sql.split(" VALUES ")
        all_rows = f"{head} VALUES {', '.join([row] * len(inserts))}"
        connection.ensure_connection()
        with connection.wrap_database_errors:
            connection.connection.execute(all_rows, [value for insert in inserts for value in insert.values])
    except IntegrityError as error:
        # One breaks a rule, and the others must not suffer for it.
        return [error] if len(inserts) == 1 else [_write(sql, [insert])[0] for insert in inserts]
    except Exception as error:
        connection.close_if_unusable_or_obsolete()
        return [error] * len(inserts)
    return [None] * len(inserts)


group_commit = GroupCommit()
