"""Group commit for SQLite: inserts that arrive while one transaction is being committed share the next transaction.

Without this module, a service on SQLite creates a quarter to a third of the pets per second, and the slowest requests
take ten times as long. SQLite has one writer at a time, and each commit waits for the disk. A thread does the waiting,
so that it does not block the event loop. Most of the time of a commit is spent waiting for the disk, so ten inserts in
one transaction cost little more than one.
"""

import asyncio
import threading
from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby
from queue import SimpleQueue
from typing import Any, NamedTuple

from django.db import IntegrityError, connection, transaction

from petservice.db.waiting import Waiter

# Seconds that an insert waits for others to join its transaction. Writing to a disk takes longer than that.
_GATHERING_INTERVAL = 0.001
# Maximum number of inserts in one transaction, so that other writers do not wait long.
_MAX_INSERTS = 100


class Guard(NamedTuple):
    """A row with a unique constraint. If the constraint refuses it, a second row is not inserted either."""

    sql: str
    values: Sequence[Any]
    # A column with unique values, and its value in this row.
    column: str
    reference: Any


class Insert(NamedTuple):
    """An INSERT of one row."""

    sql: str
    values: Sequence[Any]
    guard: Guard | None = None


# True if the row is inserted, False if its guard exists already, or an error.
Outcome = bool | Exception


class _Waiting(NamedTuple):
    insert: Insert
    tell: Callable[[Outcome], None]


class GroupCommit:
    """A queue of inserts from the event loop, and the thread that writes them."""

    def __init__(self) -> None:
        self._waiting: list[_Waiting] = []
        self._is_writing = False
        self._batches: SimpleQueue[list[_Waiting]] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop

    def insert(self, current: Waiter, insert: Insert) -> bool:
        """Insert a row and suspend the waiter's call until the commit; return False if the guard exists already.

        Raises Django's errors.
        """
        outcome = current.wait(partial(self._add, current.loop, insert))
        if isinstance(outcome, Exception):
            raise outcome
        return bool(outcome)

    def _add(self, loop: asyncio.AbstractEventLoop, insert: Insert, tell: Callable[[Outcome], None]) -> None:
        if not self._waiting and not self._is_writing:
            self._loop = loop
            loop.call_later(_GATHERING_INTERVAL, self._hand_over)
        self._waiting.append(_Waiting(insert, tell))

    def _hand_over(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="group-commit", daemon=True)
            self._thread.start()
        self._is_writing = True
        self._batches.put(self._waiting[:_MAX_INSERTS])
        del self._waiting[:_MAX_INSERTS]

    def _report(self, batch: list[_Waiting], outcomes: list[Outcome]) -> None:
        self._is_writing = False
        if self._waiting:
            self._loop.call_later(_GATHERING_INTERVAL, self._hand_over)
        for waiting, outcome in zip(batch, outcomes, strict=True):
            waiting.tell(outcome)

    # The following runs on the thread.

    def _work(self) -> None:
        while True:
            batch = self._batches.get()
            groups = groupby((waiting.insert for waiting in batch), key=_statements)
            outcomes = [outcome for _, inserts in groups for outcome in _write([*inserts])]
            self._loop.call_soon_threadsafe(self._report, batch, outcomes)


def _statements(insert: Insert) -> tuple[str, ...]:
    return (insert.sql, insert.guard.sql) if insert.guard else (insert.sql,)


def _write(inserts: list[Insert]) -> Sequence[Outcome]:
    """Commit inserts that have the same statements, and return the outcome of each."""
    try:
        if inserts[0].guard is not None:
            return write_guarded(inserts)
        connection.ensure_connection()
        with connection.wrap_database_errors:
            _execute(inserts[0].sql, [insert.values for insert in inserts])
    except IntegrityError as error:
        # One row violates a constraint. Write each row by itself, so that the others succeed.
        return [error] if len(inserts) == 1 else [_write([insert])[0] for insert in inserts]
    except Exception as error:
        connection.close_if_unusable_or_obsolete()
        return [error] * len(inserts)
    return [True] * len(inserts)


def write_guarded(inserts: list[Insert]) -> list[bool]:
    """Insert rows whose guards are new, in one transaction; return for each whether its guard is new."""
    guards = [insert.guard for insert in inserts if insert.guard is not None]
    with transaction.atomic(), connection.wrap_database_errors:
        alone = {
            reference
            for (reference,) in _execute(
                guards[0].sql, [guard.values for guard in guards], f" RETURNING {guards[0].column}"
            )
        }
        inserted = [guard.reference in alone for guard in guards]
        if any(inserted):
            _execute(inserts[0].sql, [insert.values for insert, is_in in zip(inserts, inserted, strict=True) if is_in])
    return inserted


def _execute(sql: str, rows: list[Sequence[Any]], ending: str = "") -> list[Any]:
    # One statement for all rows, because each statement waits for Python's global interpreter lock.
    head, row = sql.split(" VALUES ")
    all_rows = f"{head} VALUES {', '.join([row] * len(rows))}{ending}"
    found: list[Any] = connection.connection.execute(all_rows, [value for row in rows for value in row]).fetchall()
    return found


group_commit = GroupCommit()
