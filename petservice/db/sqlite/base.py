"""Django's SQLite backend, extended by the interface of petservice.db.backend."""

import fcntl
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from django.db.backends.sqlite3 import base

from petservice.db.backend import Backend
from petservice.db.sqlite import files
from petservice.db.sqlite.schema import DatabaseSchemaEditor


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection to SQLite."""

    SchemaEditorClass = DatabaseSchemaEditor
    is_embedded = True

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        path = Path(self.settings_dict["NAME"])
        files.require_not_moved(path)
        with suppress(OSError):  # SQLite reports it
            files.create_for_owner(path)
        return super().get_new_connection(conn_params)

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
        files.hold_service_lock(Path(self.settings_dict["NAME"]))

    @contextmanager
    def migration_lock(self) -> Iterator[None]:
        # A lock file, because SQLite's own lock would block the migrations' transactions.
        path = Path(f"{self.settings_dict['NAME']}.lock")
        files.create_for_owner(path)
        with path.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def exclude_services(self) -> AbstractContextManager[None]:
        return files.exclude_services(Path(self.settings_dict["NAME"]))

    @contextmanager
    def without_trigger(self, table: str, trigger: str) -> Iterator[None]:
        with self.cursor() as cursor:
            cursor.execute("SELECT sql FROM sqlite_master WHERE type = 'trigger' AND name = %s", [trigger])
            (statement,) = cursor.fetchone()
            cursor.execute(f"DROP TRIGGER {self.ops.quote_name(trigger)}")
            yield
            cursor.execute(statement, None)

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
