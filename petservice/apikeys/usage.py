"""When a key was last used."""

import logging
from datetime import datetime, timedelta

from django.db import DatabaseError, connection
from django.db.models import Q

from petservice.apikeys.models import APIKey
from petservice.db.backend import backend

logger = logging.getLogger(__name__)

# A use is recorded if the last one that was recorded is older.
RESOLUTION = timedelta(minutes=1)


def record_use(pk: int, now: datetime) -> None:
    """Write the time of a key's use, unless another process has just done so or is in the way; never raises."""
    due = APIKey.objects.filter(Q(last_used_at=None) | Q(last_used_at__lte=now - RESOLUTION), pk=pk)
    try:
        backend().update_unless_locked(due, last_used_at=now)
    except DatabaseError as error:
        logger.warning("The last use of API key %s was not recorded: %s", pk, error)
        # A connection with a transaction under way is its owner's to end.
        if not connection.in_atomic_block:
            connection.close_if_unusable_or_obsolete()
