"""What both database backends offer beyond Django's: an interface for all callers, and a time limit of statements."""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any, Protocol, cast

from django.db import DEFAULT_DB_ALIAS, connections

# Seconds that a request waits for the response to a statement, a little more than PostgreSQL lets the statement run. A
# new thread starts with it.
REQUEST_TIMEOUT = 21.0
# The time limit of statements, for a server that does not respond and therefore ends none itself. Management commands
# have none.
time_limit: ContextVar[float | None] = ContextVar("time_limit", default=REQUEST_TIMEOUT)


class Backend(Protocol):
    """A connection to SQLite (petservice.db.sqlite) or PostgreSQL (petservice.db.postgresql)."""

    # Whether the database is a file that belongs to this service alone.
    is_embedded: bool

    def copy_rows(
        self,
        table: str,
        columns: Sequence[str],
        batches: Iterable[Sequence[Sequence[Any]]],
        *,
        refresh_statistics: bool = True,
    ) -> None:
        """Insert batches of rows, in the current transaction, by the database's fastest method.

        Leave `refresh_statistics` on if the number of rows in the table may change greatly.
        """

    def read_consistently(self) -> AbstractContextManager[Any]:
        """Return a context in which rows are fetched in small batches and show the state at the statement's start."""

    def lock_out_writers(self, tables: list[str]) -> None:
        """Block other writers of these tables until the current transaction ends."""

    def try_lock(self, name: str, number: int) -> bool:
        """Try to take the lock of this name and number until the current transaction ends; return whether it worked."""

    def begin_service(self) -> None:
        """Do what `serve` needs before it uses the database. Raises DatabaseError or OSError if it must not start."""

    def migration_lock(self) -> AbstractContextManager[None]:
        """Return a context that one process at a time can enter, to migrate this database."""

    # The rest is for move_database.

    def exclude_services(self) -> AbstractContextManager[None]:
        """Return a context that raises BlockingIOError if a service uses this database."""

    def without_trigger(self, table: str, trigger: str) -> AbstractContextManager[None]:
        """Return a context, within a transaction, in which a trigger of the table does not run."""

    def last_number(self, table: str, column: str) -> int:
        """Return the last number that the database gave to a row of the table, or 0."""

    def set_last_number(self, table: str, column: str, number: int) -> None:
        """Let the database give numbers after this one to new rows of the table."""


def backend(alias: str = DEFAULT_DB_ALIAS) -> Backend:
    """Return the connection of the current thread to a database, by default to that of the service."""
    return cast(Backend, connections[alias])
