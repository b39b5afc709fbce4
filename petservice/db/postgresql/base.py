"""Django's PostgreSQL backend, extended by the methods that both backends have.

It refuses connection poolers, which lose the timeouts of the service, and databases that do not hold every character.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import sleep
from typing import Any

import psycopg
from django.db import OperationalError, transaction
from django.db.backends.postgresql import base, schema
from psycopg.errors import DeadlockDetected
from psycopg.types.string import TextLoader

from petservice.db.backend import Batches, RecordingSchemaEditor, time_limit
from petservice.monitoring.database_calls import database_call

logger = logging.getLogger(__name__)

# Ids are texts (pets.fields). To make a text of an object for each one would take a third of a long list.
# The values of Django's UUIDField are texts on PostgreSQL, too; compare them by str().
psycopg.adapters.register_loader("uuid", TextLoader)

# What the service needs. The server, the database or the role can have other defaults. psycopg reads times in the
# ISO style only, and with other isolation levels PostgreSQL ends statements that run at the same time. Without the last
# two, an absent tag becomes the text NULL, and the words of a search lose their backslashes.
_SESSION = (
    r"-c datestyle=ISO -c default_transaction_isolation=read\ committed "
    "-c array_nulls=on -c standard_conforming_strings=on"
)
# Time limits that PostgreSQL itself enforces, because a request must end before its worker is replaced. Management
# commands have no limits (petservice.db.backend).
_LIMITS = "-c statement_timeout=20s -c lock_timeout=5s -c idle_in_transaction_session_timeout=60s"
# An index is in memory or on an SSD. By default, PostgreSQL expects a hard disk, and prefers to read a whole table.
# With PostgreSQL's own 4 MB, a search among ten million pets tests millions of them again that have not its words.
_OPTIONS_OF_REQUESTS = f"{_LIMITS} -c random_page_cost=1.1 -c work_mem=32MB"
# As pg_dump does, because a role or a database may have limits that fit requests.
_OPTIONS_OF_COMMANDS = (
    "-c statement_timeout=0 -c lock_timeout=0 -c idle_in_transaction_session_timeout=0 -c idle_session_timeout=0"
)
# A limit that PostgreSQL has since version 17. An earlier one would refuse it as a startup parameter.
_NO_TRANSACTION_TIMEOUT = "SELECT set_config(name, '0', false) FROM pg_settings WHERE name = 'transaction_timeout'"
# The lock timeout of a migration's transaction. All later queries on the table queue behind a migration that waits,
# and a backup can hold the lock for hours. So the migration fails instead, and can be run again.
_WAIT_SHORTLY = "SELECT set_config('lock_timeout', '5s', true) WHERE current_setting('lock_timeout') = '0'"

# The timeouts that are not what this connection has asked for. Another source is for example "default" or "user".
_LOST_TIMEOUTS = """
SELECT name FROM pg_settings WHERE source NOT IN ('client', 'session')
AND name IN ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout') ORDER BY name DESC
"""
_DIRECTLY = "PgBouncer and other poolers are not supported: name the PostgreSQL server itself in DATABASE_URL."

# The number of the advisory lock. No other program that uses the database may take it.
_MIGRATION_LOCK = 7_387_115
# Seconds between two attempts to take it.
_LOCK_INTERVAL = 0.2
# Maximum number of attempts to lock several tables. Each deadlock takes a second, and few attempts in a row have one.
_LOCK_ATTEMPTS = 10


class UnsuitableDatabaseError(OperationalError):
    """The error that the service cannot use the database behind DATABASE_URL, because of a pooler or its encoding."""


class TimeLimitedConnection(psycopg.Connection[Any]):
    """A psycopg connection whose statements have a time limit (petservice.db.backend)."""

    def wait(self, gen: Any, *arguments: Any, **options: Any) -> Any:
        """Run one of psycopg's generators. Raises OperationalError if the server does not respond in time."""
        try:
            return super().wait(gen, *arguments, **{"timeout": time_limit.get(), **options})
        except psycopg.OperationalError as error:
            if error.sqlstate or self.closed:
                raise
            # The error is the driver's, because the server cannot be reached. So it ends no statement itself.
            self.close()
            raise psycopg.OperationalError("The database has not answered in time.") from error


class DatabaseSchemaEditor(RecordingSchemaEditor, schema.DatabaseSchemaEditor):
    """A schema editor with a lock timeout for migrations, which can repeat an interrupted concurrent index build."""

    # An interrupted run outside a transaction may have left the column.
    sql_create_column = "ALTER TABLE %(table)s ADD COLUMN IF NOT EXISTS %(column)s %(definition)s"

    def __enter__(self) -> "DatabaseSchemaEditor":
        super().__enter__()
        # Not outside a transaction: a concurrent index build blocks no writer, and a timeout would leave it invalid.
        if self.atomic_migration:
            self.execute(_WAIT_SHORTLY)
        return self

    def add_index(self, model: Any, index: Any, concurrently: bool = False) -> None:
        if concurrently:  # an interrupted build outside a transaction leaves an invalid index of this name
            self.remove_index(model, index, concurrently=True)
        super().add_index(model, index, concurrently)


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection to PostgreSQL."""

    SchemaEditorClass = DatabaseSchemaEditor

    def get_connection_params(self) -> dict[str, Any]:
        parameters: dict[str, Any] = super().get_connection_params()
        # The later of two values of an option counts.
        return parameters | {"options": f"{_SESSION} {parameters.get('options', '')}".strip()}

    @database_call("django")
    def get_new_connection(self, conn_params: dict[str, Any]) -> TimeLimitedConnection:
        own = _OPTIONS_OF_COMMANDS if time_limit.get() is None else _OPTIONS_OF_REQUESTS
        try:
            connection = TimeLimitedConnection.connect(**conn_params | {"options": f"{own} {conn_params['options']}"})
        except psycopg.OperationalError as error:
            if "startup parameter" in str(error):
                message = f"A connection pooler refuses the timeouts of the service. {_DIRECTLY}"
                raise UnsuitableDatabaseError(message) from error
            raise
        lost = ", ".join(name for (name,) in connection.execute(_LOST_TIMEOUTS))
        if time_limit.get() is None:
            connection.execute(_NO_TRANSACTION_TIMEOUT)
        connection.commit()
        obstacle = f"A connection pooler discards the timeouts of the service ({lost}). {_DIRECTLY}" if lost else ""
        encoding = connection.info.parameter_status("server_encoding")
        if encoding != "UTF8":  # PostgreSQL brings no text of another one into a normal form, as the search does
            obstacle = obstacle or f"The database has the encoding {encoding}. Create one with ENCODING 'UTF8'."
        if obstacle:
            connection.close()
            raise UnsuitableDatabaseError(obstacle)
        return connection

    @database_call("django")
    def commit(self) -> None:
        super().commit()

    def copy_rows(
        self, table: str, columns: Sequence[str], batches: Batches, *, refresh_statistics: bool = True
    ) -> None:
        table, names = self.ops.quote_name(table), ", ".join(map(self.ops.quote_name, columns))
        with self.cursor() as cursor:
            with self.wrap_database_errors, cursor.copy(f"COPY {table} ({names}) FROM STDIN") as copy:
                for batch in batches:
                    for row in batch:
                        copy.write_row(row)
            # Without ANALYZE, PostgreSQL plans by the old table size for up to a minute. SKIP_LOCKED, because a session
            # that builds an index waits for this transaction, and waiting for it would be a deadlock.
            if refresh_statistics:
                cursor.execute(f"ANALYZE (SKIP_LOCKED) {table}")

    def lock_out_writers(self, tables: list[str]) -> None:
        names = ", ".join(map(self.ops.quote_name, tables))
        for attempt in range(1, _LOCK_ATTEMPTS + 1):
            try:
                with transaction.atomic(using=self.alias), self.cursor() as cursor:
                    cursor.execute(f"LOCK TABLE {names} IN SHARE MODE")
                return
            except OperationalError as error:
                # PostgreSQL locks one table after the other, and a writer may have locked them in another order.
                if not isinstance(error.__cause__, DeadlockDetected) or attempt == _LOCK_ATTEMPTS:
                    raise

    def try_lock(self, name: str, number: int) -> bool:
        with self.cursor() as cursor:
            sql = "SELECT pg_try_advisory_xact_lock(hashtextextended(%s, %s))"
            return bool(cursor.execute(sql, [name, number]).fetchone()[0])

    def begin_service(self) -> None:
        """Raise UnsuitableDatabaseError if DATABASE_URL names such a one. Each later connection is checked, too."""
        try:
            self.ensure_connection()
        except UnsuitableDatabaseError:
            raise
        except OperationalError as error:
            message = "PostgreSQL cannot be reached. The first connection will show whether it is a pooler: %s"
            logger.warning(message, error)

    def end_service(self) -> None:
        """Do nothing."""

    @contextmanager
    def migration_lock(self) -> Iterator[None]:
        with self.cursor() as cursor:
            # Not pg_advisory_lock: its waiting statement holds a snapshot, and CREATE INDEX CONCURRENTLY waits for it.
            while not cursor.execute("SELECT pg_try_advisory_lock(%s)", [_MIGRATION_LOCK]).fetchone()[0]:
                sleep(_LOCK_INTERVAL)
            try:
                yield
            finally:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [_MIGRATION_LOCK])
