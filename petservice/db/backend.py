"""What the service asks of both database backends beyond what Django does, so that no caller asks which one it has."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar, cast

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import QuerySet

Rows = Sequence[Sequence[Any]]
T = TypeVar("T")


class Backend(Protocol):
    """A connection to SQLite (petservice.db.sqlite) or PostgreSQL (petservice.db.postgresql)."""

    # Whether the database is a file that belongs to this service alone.
    is_embedded: bool
    # Whether a call never waits on the event loop, so that all calls of a worker process can share one connection.
    shares_connection: bool
    # Whether a write other than by the methods below blocks its thread, so that it must not run on an
    # event loop.
    writes_block: bool
    # Whether this connection is for an event loop; whoever makes it says so before it is used.
    serves_event_loop: bool
    # Whether the driver returns what models hold, without Django's converters.
    returns_python_values: bool
    # Writing calls of the API that a worker process runs at a time.
    concurrent_writes: int
    # Seconds that a call of the API may wait for the database.
    call_timeout: float

    def driver_sql(self, sql: str) -> str | bytes:
        """Return a statement with Django's placeholders as the driver takes it."""

    def rows(self, sql: Any, values: Sequence[Any]) -> Rows:
        """Run a statement of `driver_sql`, past Django's cursor, and return its rows; raises the driver's errors."""

    def insert(self, sql: Any, values: Sequence[Any]) -> None:
        """Insert by a statement of `driver_sql`, in the transaction under way or in one of its own."""

    def guarded_insert(self, guard: str, insert: str, reference: str) -> Any:
        """Return what `insert_guarded` takes for two of Django's INSERT statements for one row each.

        `reference` is the column of the guard's table in which no two rows have the same value.
        """

    def insert_guarded(
        self, statement: Any, guard: Sequence[Any], values: Sequence[Any], reference: Any, lock: tuple[str, int]
    ) -> bool:
        """Insert two rows together, or neither if a unique constraint or whoever has the lock keeps the guard out.

        Returns whether they are inserted. They are in the transaction under way or in one of their own.
        """

    def run_blocking(self, function: Callable[[], T]) -> T:
        """Return or raise what a function does that writes in any way; on a thread if it held up an event loop."""

    def update_unless_locked(self, queryset: QuerySet[Any], **values: Any) -> None:
        """Update the rows of a queryset, but skip rows and databases that another writer has locked."""

    def copy_rows(self, table: str, columns: Sequence[str], batches: Iterable[Sequence[Sequence[Any]]]) -> None:
        """Insert batches of rows, in the transaction under way, as fast as the database can."""

    def read_consistently(self) -> AbstractContextManager[Any]:
        """Return a context in which a statement's rows are fetched a few at a time, as they were at its start."""

    def lock_out_writers(self, table: str) -> None:
        """Keep other writers from a table until the transaction under way ends."""

    def try_lock(self, name: str, number: int) -> bool:
        """Try to take a lock that two values name until the transaction under way ends; returns whether it is taken."""

    def migration_lock(self) -> AbstractContextManager[None]:
        """Return a context in which one process at a time migrates this database."""


def backend() -> Backend:
    """Return the connection of this thread or call."""
    return cast(Backend, connections[DEFAULT_DB_ALIAS])
