"""Measurements of the database: its calls with their time and errors, the connections opened for them, and its size."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import psycopg
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.dispatch import receiver

from petservice.monitoring.access_log import current_record
from petservice.monitoring.counters import count
from petservice.monitoring.telemetry import span

# The statement for the size of the database in bytes, and for the connections of its server, which SQLite lacks: those
# that are open, those that this service uses, and those that the server allows.
# PostgreSQL hides the type of the processes of other roles, but only those of clients have a database and a role.
DATABASE_STATE = {
    "postgresql": """
        SELECT pg_database_size(current_database()), count(*), count(*) FILTER (WHERE state <> 'idle'
            AND datname = current_database() AND application_name = current_setting('application_name')
            AND pid <> pg_backend_pid()),
            current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
        FROM pg_stat_activity WHERE coalesce(backend_type, 'client backend') = 'client backend'
            AND datid IS NOT NULL AND usesysid IS NOT NULL
    """,
    "sqlite": "SELECT page_count * page_size, 0, 0, 0 FROM pragma_page_count, pragma_page_size",
}
# Kinds of errors by SQLSTATE (PostgreSQL, appendix A) and by the name of SQLite's primary result code.
_KINDS = {
    "57014": "timeout",
    "SQLITE_INTERRUPT": "timeout",
    "55P03": "lock",
    "40P01": "lock",
    "SQLITE_BUSY": "lock",
    "SQLITE_CONSTRAINT": "constraint",
    "53100": "disk_full",
    "SQLITE_FULL": "disk_full",
    "53300": "connection",
    "25006": "connection",  # to a server that takes no writes
}
# Kinds by the class of a SQLSTATE, which is its beginning.
_KINDS_OF_CLASS = {"08": "connection", "57": "connection", "23": "constraint"}


@contextmanager
def database_call(path: str) -> Iterator[None]:
    """Count one call of the database on a path, `fast_path` or `django`, in a span of its own."""
    started = perf_counter()
    try:
        with span("database"):
            yield
    except Exception as error:
        count("database_errors", kind_of_error(error))
        raise
    finally:
        seconds = perf_counter() - started
        if (record := current_record.get()) is not None:
            record.database_seconds += seconds
        count("database_calls", path)
        count("database_seconds", path, seconds)


def kind_of_error(error: Exception) -> str:
    """Return why a call failed: `timeout`, `lock`, `disk_full`, `connection`, `constraint` or `other`."""
    error = error.__cause__ if isinstance(error.__cause__, Exception) else error  # the driver's
    code: str | None = getattr(error, "sqlstate", None) or getattr(error, "sqlite_errorname", None)
    if code is None:  # psycopg could not reach the server, or no connection of the fast path became free
        return "connection" if isinstance(error, psycopg.OperationalError | TimeoutError) else "other"
    primary = "_".join(code.split("_")[:2])  # of SQLITE_BUSY_SNAPSHOT
    return _KINDS.get(primary) or _KINDS_OF_CLASS.get(code[:2], "other")


@receiver(connection_created)
def _observe(connection: BaseDatabaseWrapper, **kwargs: Any) -> None:
    """Count the new connection, and from now on its statements. It may be one of many of the same object."""
    count("database_connections_opened", "django")
    if _counted not in connection.execute_wrappers:
        connection.execute_wrappers.append(_counted)


def _counted(execute: Callable[..., Any], *arguments: Any) -> Any:
    with database_call("django"):
        return execute(*arguments)
