"""Django's SQLite backend, extended by the methods that both backends have.

Next to the file of the database is a lock, which a service shares with its worker processes and with other services. A
restore excludes all of them.
"""

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar

from django.db import DatabaseError, OperationalError
from django.db.backends.sqlite3 import base, schema

from petservice.db.backend import Batches, RecordingSchemaEditor
from petservice.monitoring.database_calls import database_call

# The suffix of the file of a database whose data has moved.
MOVED = ".moved"


def create_for_owner(path: Path) -> None:
    """Create a missing file that only its owner may read, because it gets digests and secrets of second factors."""
    with suppress(FileExistsError):
        # O_EXCL opens no existing file: closing one would release the locks that SQLite has on it in this process.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode=0o600))


@contextmanager
def exclude_services(database: Path) -> Iterator[None]:
    """Let no service start. Raises BlockingIOError if one runs, or if another process is in this context."""
    lock = _open_lock(database)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(lock)


def _open_lock(database: Path, kind: str = "service") -> int:
    """Open a lock next to a database. Others may open it too, because root may run a command before the service."""
    lock = os.open(f"{database.resolve()}.{kind}", os.O_RDONLY | os.O_CREAT)
    with suppress(OSError):  # another account has created it
        os.fchmod(lock, 0o644)  # with any umask
    return lock


class DatabaseSchemaEditor(RecordingSchemaEditor, schema.DatabaseSchemaEditor):
    """A schema editor that keeps the triggers and the numbered rows of a table that it copies."""

    sql_delete_index = "DROP INDEX IF EXISTS %(name)s"  # as on PostgreSQL: an interrupted run may have removed it
    _is_numbered = False  # whether the rows of the table that is being copied have numbers

    def number_rows(self, model: Any) -> None:
        """Give each row a number for triggers and indexes, which stays. SQLite may change the number that it has."""
        self._is_numbered = True
        self._remake_table(model)

    def _remake_table(self, model: Any, *args: Any, **kwargs: Any) -> None:
        """Copy a table in order to change it, and create its triggers again, because the copy has none."""
        with self.connection.cursor() as cursor:
            triggers = "SELECT sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = %s ORDER BY name"
            cursor.execute(triggers, [model._meta.db_table])
            statements = cursor.fetchall()
            number = "SELECT 1 FROM pragma_table_info(%s) WHERE name = 'number' AND pk"
            self._is_numbered |= bool(cursor.execute(number, [model._meta.db_table]).fetchone())
        super()._remake_table(model, *args, **kwargs)  # type: ignore[misc]  # the stubs leave it out
        self._is_numbered = False
        for (statement,) in statements:
            self.execute(statement, params=None)

    def add_field(self, model: Any, field: Any) -> None:
        """Add a column, unless an interrupted run outside a transaction has left it."""
        if not self.atomic_migration:
            with self.connection.cursor() as cursor:
                columns = self.connection.introspection.get_table_description(cursor, model._meta.db_table)
            if any(column.name == field.column for column in columns):
                return
        super().add_field(model, field)

    def execute(self, sql: Any, params: Any = ()) -> None:
        """Execute a statement. If it creates or fills the copy of a numbered table, the rows keep their numbers."""
        if self._is_numbered and str(sql).startswith('CREATE TABLE "new__'):
            sql = sql.replace(" PRIMARY KEY", " UNIQUE", 1).replace("(", '("number" integer PRIMARY KEY, ', 1)
        elif self._is_numbered and str(sql).startswith('INSERT INTO "new__'):
            sql = sql.replace("(", '("number", ', 1).replace("SELECT ", "SELECT rowid, ", 1)
        super().execute(sql, params)

    def add_index(self, model: Any, index: Any, concurrently: bool = False) -> None:
        """Add an index; accept the option of Django's AddIndexConcurrently, which has no effect on SQLite."""
        if concurrently:  # an interrupted run outside a transaction may have left the index
            self.remove_index(model, index)
        super().add_index(model, index)

    def remove_index(self, model: Any, index: Any, concurrently: bool = False) -> None:
        super().remove_index(model, index)


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection to SQLite."""

    SchemaEditorClass = DatabaseSchemaEditor
    _opened: ClassVar[set[Path]] = set()  # the files that this process or its parents have opened

    @database_call("django")
    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        path = Path(self.settings_dict["NAME"])
        moved = Path(f"{path.resolve()}{MOVED}")
        if moved.exists() and not path.exists():  # SQLite would make an empty file in its place
            raise OperationalError(
                f"the data of {path} has moved to another database. Set DATABASE_URL to that one, "
                f"or move {moved} away to begin with an empty database"
            )
        # SQLite deletes the log next to an empty file, with all pets that are only there.
        if not path.exists() and (path in self._opened or Path(f"{path.resolve()}-wal").exists()):
            raise OperationalError(
                f"{path} was moved or deleted while it is in use. "
                "Move it back, or move its -wal away and restore a backup"
            )
        with suppress(OSError):  # SQLite reports it
            create_for_owner(path)
        self._opened.add(path)
        return super().get_new_connection(conn_params)

    @database_call("django")
    def commit(self) -> None:
        super().commit()

    def copy_rows(
        self, table: str, columns: Sequence[str], batches: Batches, *, refresh_statistics: bool = True
    ) -> None:
        """Insert batches of rows, in the current transaction, by the database's fastest method.

        Leave `refresh_statistics` on if the number of rows in the table may change greatly.
        """
        names = ", ".join(map(self.ops.quote_name, columns))
        places = ", ".join("%s" for _ in columns)
        sql = f"INSERT INTO {self.ops.quote_name(table)} ({names}) VALUES ({places})"  # noqa: S608  # our own names
        with self.cursor() as cursor:
            for batch in batches:
                cursor.executemany(sql, batch)

    def lock_out_writers(self, tables: list[str]) -> None:
        """Block other writers of these tables until the transaction ends. On SQLite, each transaction does so."""

    def try_lock(self, name: str, number: int) -> bool:
        """Try to take the lock of this name and number until the current transaction ends; return whether it worked."""
        # The current transaction has the only write lock.
        return True

    def begin_service(self) -> None:
        """Prepare the start of a service. Raises DatabaseError or OSError if it must not start.

        It takes the shared lock for as long as this process or a fork of it runs, and waits for the end of a restore.
        The kernel releases the lock, also after SIGKILL.
        """
        path = Path(self.settings_dict["NAME"])
        if path.exists() and not self.is_writable():  # SQLite would read it, and only writes would fail
            raise OperationalError(f"this account cannot write {path} and its directory")
        fcntl.flock(_open_lock(path), fcntl.LOCK_SH)

    def end_service(self) -> None:
        """Leave the database in one file at the end of a service, because a copy without its log lacks pets.

        SQLite writes the log into the file when the last connection is closed, but not if two are at the same time.
        """
        with suppress(DatabaseError):
            self.ensure_connection()
        self.close()

    def is_writable(self) -> bool:
        """Return whether this account can write the file of the database, and its log next to it."""
        path = Path(self.settings_dict["NAME"])
        return all(os.access(one, os.W_OK) for one in (path, path.resolve().parent))

    @contextmanager
    def migration_lock(self) -> Iterator[None]:
        """Let one process at a time migrate this database."""
        # A lock file, because SQLite's own lock would block the migrations' transactions.
        lock = _open_lock(Path(self.settings_dict["NAME"]), "lock")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)
