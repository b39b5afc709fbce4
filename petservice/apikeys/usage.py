"""Recording when an API key was last used."""

import logging
from datetime import datetime, timedelta

from django.db import DatabaseError, connection
from django.db.models import Q

from petservice.apikeys.models import APIKey
from petservice.db.backend import backend

logger = logging.getLogger(__name__)

# How often the last use of a key is recorded at most, to save writes.
RESOLUTION = timedelta(minutes=1)


def record_use(pk: int, now: datetime) -> None:
    """Record the use of a key, unless a recent use is recorded already or the row is locked.

    A database error is logged and not raised, because it must not fail the request.
    """
    due = APIKey.objects.filter(Q(last_used_at=None) | Q(last_used_at__lte=now - RESOLUTION), pk=pk)
    try:
        backend().update_unless_locked(due, last_used_at=now)
    except DatabaseError as error:
        logger.warning("The last use of API key %s was not recorded: %s", pk, error)
        # Inside a transaction, the code that began it closes the connection.
        if not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()
