"""The refusal of connection poolers, which lose the timeouts of the service."""

import logging
from collections.abc import Callable
from contextlib import closing
from typing import Any, TypeVar

import psycopg
from django.db import OperationalError

from petservice.db.time_limit import REQUEST_TIMEOUT, time_limit

logger = logging.getLogger(__name__)

C = TypeVar("C", bound="psycopg.Connection[Any]")

# The timeouts that are not what this connection has asked for. Another source is for example "default" or "user".
_LOST_TIMEOUTS = """
SELECT name FROM pg_settings WHERE source NOT IN ('client', 'session')
AND name IN ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout') ORDER BY name DESC
"""
_DIRECTLY = "PgBouncer and other poolers are not supported: name the PostgreSQL server itself in DATABASE_URL."

# Whether a connection of this process, or of the one that forked it, has had its timeouts.
_is_checked = False


class PoolerError(OperationalError):
    """The error that a connection pooler refuses or discards the timeouts, which are in a startup parameter."""


def refuse(connection: Any) -> None:
    """Raise PoolerError if there is a connection pooler. A server without a connection is checked at the first one."""
    limited = time_limit.set(REQUEST_TIMEOUT)
    try:
        with closing(connection.copy()) as probe:
            probe.ensure_connection()
    except PoolerError:
        raise
    except OperationalError as error:
        logger.warning("PostgreSQL cannot be reached. The first connection will show whether it is a pooler: %s", error)
    finally:
        time_limit.reset(limited)


def checked(connect: Callable[[], C]) -> C:
    """Return a new connection that has its timeouts. Raises PoolerError if a pooler takes them away."""
    global _is_checked
    try:
        connection = connect()
    except psycopg.OperationalError as error:
        if "startup parameter" in str(error):
            raise PoolerError(f"A connection pooler refuses the timeouts of the service. {_DIRECTLY}") from error
        raise
    if not _is_checked:
        lost = ", ".join(name for (name,) in connection.execute(_LOST_TIMEOUTS))
        connection.rollback()
        if lost:
            connection.close()
            raise PoolerError(f"A connection pooler discards the timeouts of the service ({lost}). {_DIRECTLY}")
        _is_checked = True
    return connection
