"""Django's SQLite backend, extended by the interface of petservice.db.backend."""

import fcntl
import logging
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, TypeVar

from django.db.backends.sqlite3 import base

from petservice.db.backend import Backend, Rows
from petservice.db.sqlite import new_file, service_lock
from petservice.db.sqlite.group_commit import Guard, Insert, group_commit, write_guarded
from petservice.db.sqlite.schema import DatabaseSchemaEditor
from petservice.db.waiting import waiter

logger = logging.getLogger(__name__)

T = TypeVar("T")

_REFUSAL = (
    "A view on the event loop must not write to SQLite, because all other requests would wait for it: use another "
    "method than GET, and leave the action out of the viewset's insert_actions"
)


class _EventLoopCursor(base.SQLiteCursorWrapper):
    """A cursor for the event loop that refuses writes with a message for the developer."""

    def execute(self, query: str, params: Any = None) -> Any:
        try:
            return super().execute(query, params)
        except sqlite3.OperationalError as error:
            if "readonly database" not in str(error):
                raise
            raise sqlite3.NotSupportedError(_REFUSAL) from error


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection to SQLite."""

    SchemaEditorClass = DatabaseSchemaEditor
    is_embedded = True
    statements_block = True
    serves_event_loop = False
    returns_python_values = False
    knows_case_of_ascii_only = True  # in every collation
    # They share one commit.
    concurrent_writes = 64
    # SQLite waits 5 seconds for another writer. Requests behind such a write may wait 5 seconds more.
    call_timeout = 10.0

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        path = Path(self.settings_dict["NAME"])
        new_file.require_not_moved(path)
        with suppress(OSError):  # SQLite reports it
            new_file.create_for_owner(path)
        return super().get_new_connection(conn_params)

    def init_connection_state(self) -> None:
        """Configure a new connection; one that serves an event loop refuses writes."""
        super().init_connection_state()
        if self.serves_event_loop:  # a write that waits for SQLite's lock would block all other requests
            self.connection.execute("PRAGMA query_only = ON")
            self.transaction_mode = "DEFERRED"  # all other connections begin transactions as writers

    def create_cursor(self, name: str | None = None) -> Any:
        return self.connection.cursor(factory=_EventLoopCursor if self.serves_event_loop else base.SQLiteCursorWrapper)

    def driver_sql(self, sql: str) -> str:
        return sql.replace("%s", "?")

    def rows(self, sql: str, values: Sequence[Any]) -> Rows:
        rows: Rows = self.connection.execute(sql, values).fetchall()
        return rows

    def insert(self, sql: str, values: Sequence[Any]) -> None:
        """Insert one row; on an event loop, as part of a group commit."""
        current = waiter.get()
        if current is None or self.in_atomic_block:
            self.rows(sql, values)
        else:
            group_commit.insert(current, Insert(sql, values))

    def guarded_insert(self, guard: str, insert: str, reference: str) -> tuple[str, str, str]:
        return self.driver_sql(guard), self.driver_sql(insert), self.ops.quote_name(reference)

    def insert_guarded(
        self,
        statement: tuple[str, str, str],
        guard: Sequence[Any],
        values: Sequence[Any],
        reference: Any,
        lock: tuple[str, int],
    ) -> bool:
        """Insert two rows or neither; SQLite's single write lock serves as the lock."""
        guard_sql, sql, column = statement
        insert = Insert(sql, values, Guard(guard_sql, guard, column, reference))
        current = waiter.get()
        if current is None or self.in_atomic_block:
            return write_guarded([insert])[0]
        return group_commit.insert(current, insert)

    def run_blocking(self, function: Callable[[], T]) -> T:
        current = waiter.get()
        return function() if current is None else current.wait_for_thread(function)

    def copy_rows(
        self,
        table: str,
        columns: Sequence[str],
        batches: Iterable[Sequence[Sequence[Any]]],
        *,
        refresh_statistics: bool = True,
    ) -> None:
        names = ", ".join(map(self.ops.quote_name, columns))
        places = ", ".join("%s" for _ in columns)
        sql = f"INSERT INTO {self.ops.quote_name(table)} ({names}) VALUES ({places})"  # noqa: S608  # our own names
        with self.cursor() as cursor:
            for batch in batches:
                cursor.executemany(sql, batch)

    def read_consistently(self) -> AbstractContextManager[Any]:
        # Each SQLite statement reads one state anyway, and a transaction would block writers.
        return nullcontext()

    def lock_out_writers(self, tables: list[str]) -> None:
        """Do nothing, because each transaction has SQLite's only write lock from its start."""

    def try_lock(self, name: str, number: int) -> bool:
        # The current transaction has the only write lock.
        return True

    def begin_service(self) -> None:
        """Take the lock that keeps a restore from replacing the database of a running service."""
        service_lock.hold(Path(self.settings_dict["NAME"]))

    @contextmanager
    def migration_lock(self) -> Iterator[None]:
        # A lock file, because SQLite's own lock would block the migrations' transactions.
        path = Path(f"{self.settings_dict['NAME']}.lock")
        new_file.create_for_owner(path)
        with path.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    filled_at_once = new_file.filled_at_once
    retire = new_file.retire

    def exclude_services(self) -> AbstractContextManager[None]:
        return service_lock.exclude_services(Path(self.settings_dict["NAME"]))

    def last_number(self, table: str, column: str) -> int:
        with self.cursor() as cursor:
            row = cursor.execute("SELECT seq FROM sqlite_sequence WHERE name = %s", [table]).fetchone()
        return row[0] if row else 0

    def set_last_number(self, table: str, column: str, number: int) -> None:
        with self.cursor() as cursor:
            cursor.execute("DELETE FROM sqlite_sequence WHERE name = %s", [table])
            cursor.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (%s, %s)", [table, number])


# Not used. It lets mypy compare the class with the interface.
_backend: type[Backend] = DatabaseWrapper
