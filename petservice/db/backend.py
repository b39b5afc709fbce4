"""What both database backends offer beyond Django's: their own methods, and a time limit of statements.

`petservice.db.sqlite` and `petservice.db.postgresql` have the same methods, of which the former describes each.
"""

from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections

# Batches of rows.
Batches = Iterable[Sequence[Sequence[Any]]]

# Seconds that a request waits for the response to a statement, a little more than PostgreSQL lets the statement run. A
# new thread starts with it.
STATEMENT_TIMEOUT = 21.0
# The time limit of statements, for a server that does not respond and therefore ends none itself. Management commands
# have none.
time_limit: ContextVar[float | None] = ContextVar("time_limit", default=STATEMENT_TIMEOUT)


def backend(alias: str = DEFAULT_DB_ALIAS) -> Any:
    """Return the connection of the current thread to a database, by default to that of the service."""
    return connections[alias]


class _Deferred(list[Any]):
    """The statements that a migration runs at its end, in a list that counts as empty.

    Django records a migration in its transaction only if there are no such statements.
    """

    def __bool__(self) -> bool:
        return False


class RecordingSchemaEditor:
    """A mixin of schema editors with which each migration in a transaction is recorded in it.

    Otherwise, a process that is killed between the migration and its record leaves tables that no `migrate` can create
    again. A migration outside a transaction is recorded after its last statement.
    """

    atomic_migration: bool

    @property
    def deferred_sql(self) -> list[Any]:
        return self._deferred

    @deferred_sql.setter
    def deferred_sql(self, statements: list[Any]) -> None:
        self._deferred = _Deferred(statements) if self.atomic_migration else statements
