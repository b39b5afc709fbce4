"""When a key was last used: noted while a request is answered, written after the answer has gone out."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from django.db import DatabaseError, connection, transaction
from django.db.models import Q

from petservice.apikeys.models import APIKey

logger = logging.getLogger(__name__)

RESOLUTION = timedelta(minutes=1)

_noted = threading.local()


def note_use(api_key: APIKey, now: datetime) -> None:
    """Remember, until the request ends, that `api_key` was used, unless that is recorded finely enough."""
    if api_key.last_used_at is None or api_key.last_used_at <= now - RESOLUTION:
        _noted.use = (api_key.pk, now)


def record_use(**kwargs: Any) -> None:
    """Write what was noted, at the end of the request; gives way to whoever holds the row, and never raises."""
    pk, now = _noted.__dict__.pop("use", (None, None))
    if pk is None:
        return
    due = APIKey.objects.filter(Q(last_used_at=None) | Q(last_used_at__lte=now - RESOLUTION), pk=pk)
    try:
        with _without_waiting(), transaction.atomic():
            # SKIP LOCKED: another worker is writing the same thing.
            APIKey.objects.filter(pk__in=due.select_for_update(skip_locked=True).values("pk")).update(last_used_at=now)
    except DatabaseError as error:
        logger.warning("The last use of API key %s was not recorded: %s", pk, error)
    finally:
        # Django has ended the request's connection before this; what this opened is given back likewise. A connection
        # with a transaction under way is its owner's to end.
        if not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()


@contextmanager
def _without_waiting() -> Iterator[None]:
    """SQLite has one lock for all writers: try once for it, rather than queue."""
    if connection.vendor != "sqlite":
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA busy_timeout")
        (usual,) = cursor.fetchone()
        cursor.execute("PRAGMA busy_timeout = 0")
        try:
            yield
        finally:
            cursor.execute(f"PRAGMA busy_timeout = {usual}")
