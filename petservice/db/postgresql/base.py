"""Django's PostgreSQL, which lets other calls on the event loop go on while it waits for the server."""

from collections.abc import Sequence
from functools import partial
from select import POLLIN, poll
from threading import current_thread, main_thread
from time import monotonic
from typing import Any

import psycopg
from django.db.backends.postgresql import base, schema
from psycopg.abc import PQGen
from psycopg.pq.abc import PGconn

from petservice.db.postgresql.latency import Pace
from petservice.db.postgresql.statements import PreparedStatement, Rows
from petservice.server.greenlets import READ, Lane, current_lane

# Milliseconds for which an answer that is expected to be prompt is waited for before the call gives way.
PATIENCE = 2

# What the server ends by itself: of the API, which has such small statements only; and of a page, before the time in
# which its worker would be replaced. Commands may take their time.
LIMITS_OF_CALLS = "-c statement_timeout=5s -c lock_timeout=3s -c idle_in_transaction_session_timeout=30s"
LIMITS_OF_PAGES = "-c statement_timeout=20s -c lock_timeout=5s -c idle_in_transaction_session_timeout=60s"
# Whatever the API asks of a table that grows is found by an index, so each statement is planned once. Left to itself,
# the server plans a list anew each time, since it takes a limit that it does not know for a tenth of the table; and
# having found a table small it reads the whole for one row, also when it has grown, until its statistics are renewed.
# None is worth being compiled. Before PostgreSQL 18 what has no index, such as the inventory's few rows, would be, each
# time for 70 ms: these count a scan that is off as a very long one.
PLANS_OF_CALLS = "-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c jit=off"
# Of a migration's transaction. While it waits for a lock all that comes after waits behind it, and it may wait for as
# long as a backup takes; so it fails instead, and can be run again.
_WAIT_SHORTLY = "SELECT set_config('lock_timeout', '5s', true) WHERE current_setting('lock_timeout') = '0'"

_NOT_IN_TIME = "The database has not answered in time."


class Connection(psycopg.Connection[Any]):
    """psycopg's, which lets other calls go on while it waits, and runs prepared statements."""

    # That of the server, so one for all connections.
    _pace = Pace()

    def __init__(self, pgconn: PGconn) -> None:
        super().__init__(pgconn)
        self._answer = poll()
        self._answer.register(pgconn.socket, POLLIN)
        self._statements: dict[bytes, PreparedStatement] = {}

    def rows(self, sql: bytes, parameters: Sequence[Any]) -> Rows:
        """The rows of a statement with parameters `$1`, `$2`…, which is prepared when it is first asked for here.

        Ids come as text, times in UTC. Raises psycopg's errors.
        """
        rows: Rows = self.wait(self._rows(sql, parameters))
        return rows

    def _rows(self, sql: bytes, parameters: Sequence[Any]) -> PQGen[Rows]:
        yield from self._start_query()  # begins the transaction, if this is the first statement in one
        statement = self._statements.get(sql)
        if statement is None:
            statement = yield from PreparedStatement.prepare(self.pgconn, sql, b"statement_%d" % len(self._statements))
            self._statements[sql] = statement
        return (yield from statement.rows(parameters))

    def wait(self, gen: Any, *arguments: Any, **options: Any) -> Any:
        """psycopg's, which runs a generator that yields what to wait for."""
        lane = current_lane()
        if lane is None or arguments or options:
            return super().wait(gen, *arguments, **options)
        try:
            wanted = next(gen)
            while True:
                wanted = gen.send(self._wait_in(lane, wanted))
        except StopIteration as end:
            return end.value

    def _wait_in(self, lane: Lane, wanted: int) -> int:
        if wanted == READ and self._pace.is_prompt():
            began = monotonic()
            is_answered = self._answer.poll(PATIENCE)
            self._pace.note(monotonic() - began)
            if is_answered:
                return READ
        ready = lane.wait_for_socket(self.pgconn.socket, wanted)
        if not ready:
            # Whatever comes now is no answer to the next question.
            self.close()
            raise psycopg.OperationalError(_NOT_IN_TIME)
        return ready


class DatabaseSchemaEditor(schema.DatabaseSchemaEditor):
    """Django's, whose migrations wait shortly for locks."""

    def __enter__(self) -> "DatabaseSchemaEditor":
        super().__enter__()
        # Not for one outside a transaction: it makes an index and holds nobody up, but would leave a broken one.
        if self.atomic_migration and not self.collect_sql:
            self.execute(_WAIT_SHORTLY)
        return self


class DatabaseWrapper(base.DatabaseWrapper):
    SchemaEditorClass = DatabaseSchemaEditor

    def get_new_connection(self, conn_params: dict[str, Any]) -> Connection:
        lane = current_lane()
        if lane is not None:
            if lane.has_given_up:  # else each further try would leave one more statement to the server
                raise psycopg.OperationalError(_NOT_IN_TIME)
            limits = f"{LIMITS_OF_CALLS} {PLANS_OF_CALLS}"
        elif current_thread() is not main_thread():
            limits = LIMITS_OF_PAGES
        else:  # a command
            limits = ""
        options = f"{limits} {conn_params.get('options', '')}".strip()  # of two that name the same, the later counts
        connect = partial(Connection.connect, **conn_params | {"options": options})
        # On a thread: a name server that does not answer would hold up the loop.
        return connect() if lane is None else lane.wait_for_thread(connect)
