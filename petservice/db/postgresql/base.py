"""Django's PostgreSQL backend, extended by the interface of petservice.db.backend."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from select import POLLIN, poll
from time import monotonic, sleep
from typing import Any, TypeVar

import psycopg
from django.db import OperationalError, transaction
from django.db.backends.postgresql import base, schema
from psycopg.abc import PQGen
from psycopg.errors import DeadlockDetected, _WaitTimeout
from psycopg.pq.abc import PGconn

from petservice.db.backend import Backend, Rows
from petservice.db.postgresql import pooler
from petservice.db.postgresql.latency import Latency
from petservice.db.postgresql.statements import PreparedStatement
from petservice.db.waiting import READ, Waiter, time_limit, waiter

T = TypeVar("T")

# Milliseconds of polling for a response before the call is suspended.
SPIN_MILLISECONDS = 2

# Time limits that PostgreSQL itself enforces. Calls with a waiter are API requests, and their statements are small.
# All others, such as admin pages, must end before the worker is replaced. Management commands have no limits
# (petservice.db.waiting.time_limit).
LIMITS_OF_CALLS = "-c statement_timeout=5s -c lock_timeout=3s -c idle_in_transaction_session_timeout=30s"
LIMITS_OF_PAGES = "-c statement_timeout=20s -c lock_timeout=5s -c idle_in_transaction_session_timeout=60s"
# Planner settings: each API statement on a growing table uses an index, so one generic plan serves for all parameters.
# By default, PostgreSQL would plan a list for each request, because it estimates an unknown LIMIT as a tenth of the
# table. It would also keep scanning a table that was small at planning time, until its statistics are refreshed.
# JIT compilation never pays here. Before PostgreSQL 18, it would compile the inventory's statement each time, for
# 70 ms, because with enable_seqscan=off a sequential scan counts as very expensive.
PLANS_OF_CALLS = "-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c jit=off"
# The lock timeout of a migration's transaction. All later queries on the table queue behind a migration that waits,
# and a backup can hold the lock for hours. So the migration fails instead, and can be run again.
_WAIT_SHORTLY = "SELECT set_config('lock_timeout', '5s', true) WHERE current_setting('lock_timeout') = '0'"

# The number of other connections of this service: they have the same application name.
_SERVICES = """
SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
AND application_name = current_setting('application_name')
"""

_INSERT = re.compile(r"(INSERT INTO .*) VALUES \((.*)\)(.*)")

_TIMED_OUT = "The database has not answered in time."

# The number of the advisory lock. No other program that uses the database may take it.
_MIGRATION_LOCK = 7_387_115
# Seconds between two attempts to take it.
_LOCK_INTERVAL = 0.2
# Maximum number of attempts to lock several tables. Each deadlock takes a second, and few attempts in a row have one.
_LOCK_ATTEMPTS = 10


class Connection(psycopg.Connection[Any]):
    """A psycopg connection that lets other calls run while it waits, and that runs prepared statements."""

    # One for all connections, because all have the same server.
    _latency = Latency()

    def __init__(self, pgconn: PGconn) -> None:
        super().__init__(pgconn)
        self._response = poll()
        self._response.register(pgconn.socket, POLLIN)
        self._statements: dict[bytes, PreparedStatement] = {}

    def rows(self, sql: bytes, parameters: Sequence[Any]) -> Rows:
        """Run a statement with parameters `$1`, `$2`… and return its rows. Its first run on a connection prepares it.

        UUIDs are strings, and times are in UTC. Raises psycopg's errors.
        """
        rows: Rows = self.wait(self._rows(sql, parameters))
        return rows

    def _rows(self, sql: bytes, parameters: Sequence[Any]) -> PQGen[Rows]:
        yield from self._start_query()  # sends BEGIN, if this is the first statement of a transaction
        statement = self._statements.get(sql)
        if statement is None:
            statement = yield from PreparedStatement.prepare(self.pgconn, sql, b"statement_%d" % len(self._statements))
            self._statements[sql] = statement
        return (yield from statement.rows(parameters))

    def wait(self, gen: Any, *arguments: Any, **options: Any) -> Any:
        """Run one of psycopg's generators, which yield the socket event to wait for; use the waiter if there is one."""
        current = waiter.get()
        if arguments or options:
            return super().wait(gen, *arguments, **options)
        if current is None:
            return self._wait_on_thread(gen)
        try:
            wanted = next(gen)
            while True:
                wanted = gen.send(self._wait_for(current, wanted))
        except StopIteration as end:
            return end.value

    def _wait_on_thread(self, gen: Any) -> Any:
        try:
            return super().wait(gen, timeout=time_limit.get())
        except _WaitTimeout:
            # A server that cannot be reached ends no statement itself.
            self.close()
            raise psycopg.OperationalError(_TIMED_OUT) from None

    def _wait_for(self, current: Waiter, wanted: int) -> int:
        if wanted == READ and self._latency.should_spin():
            started = monotonic()
            has_response = self._response.poll(SPIN_MILLISECONDS)
            self._latency.note(monotonic() - started)
            if has_response:
                return READ
        ready = current.wait_for_socket(self.pgconn.socket, wanted)
        if not ready:
            # A late response must not be taken for the response to the next statement.
            self.close()
            raise psycopg.OperationalError(_TIMED_OUT)
        return ready


class DatabaseSchemaEditor(schema.DatabaseSchemaEditor):
    """A schema editor with a lock timeout for migrations, which can repeat an interrupted concurrent index build."""

    def __enter__(self) -> "DatabaseSchemaEditor":
        super().__enter__()
        # Not outside a transaction: a concurrent index build blocks no writer, and a timeout would leave it invalid.
        if self.atomic_migration and not self.collect_sql:
            self.execute(_WAIT_SHORTLY)
        return self

    def add_index(self, model: Any, index: Any, concurrently: bool = False) -> None:
        if concurrently:  # an interrupted build outside a transaction leaves an invalid index of this name
            self.remove_index(model, index, concurrently=True)
        super().add_index(model, index, concurrently)


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection to PostgreSQL."""

    SchemaEditorClass = DatabaseSchemaEditor
    is_embedded = False
    statements_block = False
    serves_event_loop = False
    returns_python_values = True
    knows_case_of_ascii_only = False
    # Each request that writes has a connection of its own.
    concurrent_writes = 3
    call_timeout = 5.0

    def get_new_connection(self, conn_params: dict[str, Any]) -> Connection:
        current = waiter.get()
        if current is not None:
            if current.has_timed_out:  # otherwise each retry would leave one more running statement on the server
                raise psycopg.OperationalError(_TIMED_OUT)
            limits = f"{LIMITS_OF_CALLS} {PLANS_OF_CALLS}"
        else:
            limits = "" if time_limit.get() is None else LIMITS_OF_PAGES
        options = f"{limits} {conn_params.get('options', '')}".strip()  # the later of two values of an option counts
        connect = partial(Connection.connect, **conn_params | {"options": options})
        if limits:
            connect = partial(pooler.checked, connect)
        # On a thread, because a DNS lookup without a response would block the event loop.
        return connect() if current is None else current.wait_for_thread(connect)

    def driver_sql(self, sql: str) -> bytes:
        first, *others = sql.split("%s")
        return "".join([first, *(f"${number}{part}" for number, part in enumerate(others, 1))]).encode()

    def rows(self, sql: bytes, values: Sequence[Any]) -> Rows:
        rows: Rows = self.connection.rows(sql, values)
        return rows

    def insert(self, sql: bytes, values: Sequence[Any]) -> None:
        self.rows(sql, values)

    def guarded_insert(self, guard: str, insert: str, reference: str) -> bytes:
        """Combine both statements into one, which takes one round trip."""
        into_guard, row, ignoring = _INSERT.fullmatch(guard).groups()  # type: ignore[union-attr]
        into_table, values, _ = _INSERT.fullmatch(insert).groups()  # type: ignore[union-attr]
        free = "pg_try_advisory_xact_lock(hashtextextended(%s, %s))"
        return self.driver_sql(
            f"WITH guard AS ({into_guard} SELECT {row} WHERE {free}{ignoring} RETURNING 1) "  # noqa: S608  # Django's SQL
            f"{into_table} SELECT {values} FROM guard RETURNING 1"
        )

    def insert_guarded(
        self, statement: bytes, guard: Sequence[Any], values: Sequence[Any], reference: Any, lock: tuple[str, int]
    ) -> bool:
        return bool(self.rows(statement, [*guard, *lock, *values]))

    def run_blocking(self, function: Callable[[], T]) -> T:
        return function()

    def copy_rows(
        self,
        table: str,
        columns: Sequence[str],
        batches: Iterable[Sequence[Sequence[Any]]],
        *,
        refresh_statistics: bool = True,
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

    def read_consistently(self) -> AbstractContextManager[Any]:
        # PostgreSQL sends rows in batches only within a transaction.
        return transaction.atomic(using=self.alias)

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
            cursor.execute("SELECT pg_try_advisory_xact_lock(hashtextextended(%s, %s))", [name, number])
            (is_taken,) = cursor.fetchone()
        return bool(is_taken)

    begin_service = pooler.refuse

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

    def filled_at_once(self) -> AbstractContextManager[None]:
        # Others see the rows when the transaction of the move ends.
        return nullcontext()

    @contextmanager
    def exclude_services(self) -> Iterator[None]:
        with self.cursor() as cursor:
            cursor.execute("SELECT pg_stat_clear_snapshot()")  # within a transaction, PostgreSQL shows the same again
            cursor.execute(_SERVICES)
            if cursor.fetchone() != (0,):
                raise BlockingIOError
        yield

    def retire(self) -> str:
        return ""

    def last_number(self, table: str, column: str) -> int:
        with self.cursor() as cursor:
            cursor.execute("SELECT pg_sequence_last_value(pg_get_serial_sequence(%s, %s))", [table, column])
            (number,) = cursor.fetchone()
        return number or 0

    def set_last_number(self, table: str, column: str, number: int) -> None:
        if number:  # a sequence begins with 1
            with self.cursor() as cursor:
                cursor.execute("SELECT setval(pg_get_serial_sequence(%s, %s), %s)", [table, column, number])


# Not used. It lets mypy compare the class with the interface.
_backend: type[Backend] = DatabaseWrapper
