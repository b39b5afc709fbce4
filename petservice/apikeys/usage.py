"""When a key was last used: noted while a request is answered, written at its end."""

import logging
import sqlite3
from contextvars import ContextVar
from datetime import datetime, timedelta
from typing import Any

from django.db import DatabaseError, connection, transaction
from django.db.models import Q

from petservice.apikeys.models import APIKey

logger = logging.getLogger(__name__)

RESOLUTION = timedelta(minutes=1)

# A key and the time, in the context of the request.
_noted: ContextVar[tuple[int, datetime] | None] = ContextVar("noted", default=None)


def note_use(pk: int, last_used_at: datetime | None, now: datetime) -> None:
    """Remember, until the request ends, that the key was used, unless that is recorded finely enough."""
    if last_used_at is None or last_used_at <= now - RESOLUTION:
        _noted.set((pk, now))


def record_use(**kwargs: Any) -> None:
    """Write what was noted, at the end of the request; gives way to whoever holds the row, and never raises."""
    use = _noted.get()
    if use is None:
        return
    _noted.set(None)
    write = _write_on_sqlite if connection.vendor == "sqlite" else _write
    try:
        write(*use)
    except DatabaseError as error:
        logger.warning("The last use of API key %s was not recorded: %s", use[0], error)
    finally:
        # Django has ended the request's connection before this; what this opened is given back likewise. A connection
        # with a transaction under way is its owner's to end.
        if not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()


@transaction.atomic
def _write(pk: int, now: datetime) -> None:
    # SKIP LOCKED: another worker is writing the same thing.
    due = APIKey.objects.filter(Q(last_used_at=None) | Q(last_used_at__lte=now - RESOLUTION), pk=pk)
    APIKey.objects.filter(pk__in=due.select_for_update(skip_locked=True).values("pk")).update(last_used_at=now)


def _write_on_sqlite(pk: int, now: datetime) -> None:
    """Try once for the one lock that all writers share, rather than queue for it; losing it is nothing unusual.

    Not through Django's cursor: the exception that it raises is part of a reference cycle and keeps the cursor in it.
    The garbage collector would end that cursor in some other thread, holding Python's lock while it waits for this
    connection, and all threads of the process would stand still for as long as this connection is busy.
    """
    connection.ensure_connection()
    database: sqlite3.Connection = connection.connection
    (usual,) = database.execute("PRAGMA busy_timeout").fetchone()
    moment, due = (connection.ops.adapt_datetimefield_value(time) for time in (now, now - RESOLUTION))
    database.execute("PRAGMA busy_timeout = 0")
    if not database.in_transaction:
        # Not worth waiting for the disk, which would hold up the event loop.
        database.execute("PRAGMA synchronous = NORMAL")
    try:
        database.execute(
            "UPDATE apikeys_apikey SET last_used_at = ? WHERE id = ? AND (last_used_at IS NULL OR last_used_at <= ?)",
            [moment, pk, due],
        )
    except sqlite3.OperationalError:
        logger.debug("The last use of API key %s was not recorded: the database is being written to.", pk)
    finally:
        database.execute(f"PRAGMA busy_timeout = {usual}")
        if not database.in_transaction:
            database.execute("PRAGMA synchronous = FULL")
