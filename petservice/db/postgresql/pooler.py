"""The refusal of connection poolers, which lose the timeouts of the service."""

import logging
from contextlib import closing
from typing import Any

from django.db import OperationalError

from petservice.db.waiting import PAGE_TIMEOUT, time_limit

logger = logging.getLogger(__name__)

# The timeouts that are not what this connection has asked for. Another source is for example "default" or "user".
_LOST_TIMEOUTS = """
SELECT name FROM pg_settings WHERE source NOT IN ('client', 'session')
AND name IN ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout') ORDER BY name DESC
"""
_DIRECTLY = "PgBouncer and other poolers are not supported: name the PostgreSQL server itself in DATABASE_URL."


def refuse(connection: Any) -> None:
    """Raise OperationalError if a connection pooler refuses or discards the timeouts.

    They are in a startup parameter. A server without a connection is not refused, because the service waits for it.
    """
    limited = time_limit.set(PAGE_TIMEOUT)
    probe = connection.copy()
    try:
        with closing(probe), probe.cursor() as cursor:
            cursor.execute(_LOST_TIMEOUTS)
            lost = ", ".join(name for (name,) in cursor.fetchall())
    except OperationalError as error:
        if "startup parameter" in str(error):
            raise OperationalError(f"A connection pooler refuses the timeouts of the service. {_DIRECTLY}") from error
        logger.warning("The timeouts are not checked, because there is no connection at the start: %s", error)
        return
    finally:
        time_limit.reset(limited)
    if lost:
        raise OperationalError(f"A connection pooler discards the timeouts of the service ({lost}). {_DIRECTLY}")
