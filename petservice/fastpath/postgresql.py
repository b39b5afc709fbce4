"""The statements of the fast path on PostgreSQL, through psycopg's asynchronous connections."""

import asyncio
import socket
import time
from collections.abc import Sequence
from select import POLLIN, poll
from typing import Any

import orjson
import psycopg
from django.db import connection

from pets import creator
from pets.models import IdempotencyRecord, Pet
from pets.services import lock_name
from petservice.apikeys import keys
from petservice.fastpath.shared_writes import SharedWrites
from petservice.fastpath.statements import Insert, Rows, Statements, names
from petservice.fastpath.usual import UsualRequest
from petservice.monitoring.counters import count

# Number of connections for reads. One more is for inserts, so that neither waits for a statement of the other kind.
_CONNECTIONS = 3
# Seconds after which a request that waits for a connection runs no statement, and that a statement may run.
_TIMEOUT = 5.0
# Time limits that PostgreSQL itself enforces; the statements are small.
_LIMITS = "-c statement_timeout=5s -c lock_timeout=3s -c idle_in_transaction_session_timeout=30s"
# Planner settings: each statement uses an index on a growing table, so one generic plan serves for all parameters.
# By default, PostgreSQL would plan a list for each request, because it estimates an unknown LIMIT as a tenth of the
# table. It would also keep scanning a table that was small at planning time, until its statistics are refreshed.
# JIT compilation never pays here. Before PostgreSQL 18, it would compile the inventory's statement each time, for
# 70 ms, because with enable_seqscan=off a sequential scan counts as very expensive.
_PLANS = "-c plan_cache_mode=force_generic_plan -c enable_seqscan=off -c jit=off"
# The parameters of Django's connections that only its own cursors understand.
_OF_DJANGO = ("cursor_factory", "context")

# The only cursor of a connection, because another one for each statement costs a third of the statement.
_Cursor = psycopg.AsyncCursor[Any]

# The key and the rows of a statement in one round trip. Without rows, there is one with the key alone.
_READ = "WITH k AS ({key}) SELECT k.id, k.usable, found.* FROM k LEFT JOIN ({statement}) found ON k.usable ORDER BY 3"
# Every pet that was sent, with its API key, and whether it was created. One with an Idempotency-Key is created if it is
# the first one, and if Django handles no request with it. A statement for several pets costs little more than for one.
_CREATE = """WITH sent AS (
SELECT sent.*, k.id AS key_id, k.prefix, k.name AS key_name, k.usable AND k.may_write AS may_create
FROM json_to_recordset(%s::json) AS sent ({columns}, digest text, idempotency_key text)
LEFT JOIN LATERAL ({key}) k ON true
), record AS (
{record} FROM sent WHERE may_create AND pg_try_advisory_xact_lock(hashtextextended({lock}, key_id))
ON CONFLICT DO NOTHING RETURNING {pet_id}
), created AS (
{pet} FROM sent WHERE may_create AND (idempotency_key IS NULL OR {id} IN (SELECT * FROM record)) RETURNING {id}
) SELECT {id}, key_id, {id} IN (SELECT * FROM created) FROM sent"""


class PostgreSQL:
    """The database of one worker process."""

    def __init__(self) -> None:
        self._statements = Statements(_READ)
        self._pet, record = Insert(Pet), Insert(IdempotencyRecord)
        pet, of_record = names(Pet), names(IdempotencyRecord)
        created_by = creator.of_key("' || prefix || '", "' || key_name || '")
        pet_values = pet | {"created_by": f"'{created_by}'"}
        record_values = pet | {"api_key_id": "key_id", "key": "idempotency_key", "pet_id": pet["id"]}
        lock = lock_name("' || idempotency_key || '")
        self._create = _CREATE.format(
            columns=", ".join(f"{pet[field.attname]} {field.db_type(connection)}" for field in self._pet.fields),
            key=self._statements.key_of_sent,
            record=f"{record.into} SELECT {', '.join(record_values[field.attname] for field in record.fields)}",
            lock=f"'{lock}'",
            pet_id=of_record["pet_id"],
            pet=f"{self._pet.into} SELECT {', '.join(pet_values[field.attname] for field in self._pet.fields)}",
            id=pet["id"],
        )
        self._creations = SharedWrites(self._write)
        self._reading, self._writing = Connections(), Connections()

    async def find(self, key: str, request: UsualRequest) -> tuple[int, Rows | None] | None:
        """Return the id of an API key and what a request finds, or None for the rows if the key is not usable.

        Returns None if the key is unknown.
        """
        sql, values = self._statements.reading(request)
        rows = await self._reading.rows(sql, (*self._statements.key_values(key), *values), is_read=True)
        if not rows:
            return None
        key_id, is_usable, *first = rows[0]
        if not is_usable:
            return key_id, None
        return key_id, [] if first[0] is None else [row[2:] for row in rows]

    async def create(self, key: str, pet: dict[str, Any], idempotency_key: str | None) -> tuple[int, bool] | None:
        """Create a pet, and the record of its Idempotency-Key if it has one, if the API key may do so.

        Returns the id of the API key and whether the pet was created, or None if the key is unknown.
        """
        sent = self._pet.complete(pet) | {"digest": keys.digest(key), "idempotency_key": idempotency_key}
        created: tuple[int, bool] | None = await self._creations.add(sent)
        return created

    async def _write(self, sent: list[dict[str, Any]]) -> list[tuple[int, bool] | None]:
        """Create pets by one statement, and return for each what `create` returns."""
        values = (orjson.dumps(sent).decode(), *self._statements.now_and_here())
        rows = await self._writing.rows(self._create, values)
        found = {pet_id: (key_id, is_new) for pet_id, key_id, is_new in rows if key_id is not None}
        return [found.get(one["id"]) for one in sent]


class Connections:
    """Some connections, of which one more is opened when all that are open are in use."""

    def __init__(self) -> None:
        self._unused = asyncio.Semaphore(_CONNECTIONS)
        self.idle: list[_Cursor] = []

    async def rows(self, sql: str, values: Sequence[Any], *, is_read: bool = False) -> Rows:
        """Run a statement, and return its rows. A read is repeated once if its connection has died.

        Raises psycopg's errors, and TimeoutError if no connection was free in time.
        """
        began = time.monotonic()
        await self._unused.acquire()
        cursor = self.idle.pop() if self.idle else None
        try:
            # Not asyncio.timeout, which costs a twelfth of a read. Those before have time limits, so none waits long.
            if time.monotonic() - began > _TIMEOUT:
                raise TimeoutError("No connection to the database was free in time.")
            # A read would be repeated anyway.
            if cursor is not None and not is_read and _has_ended(cursor.connection):
                await cursor.connection.close()
                cursor = None
            is_repeatable = is_read and cursor is not None
            cursor = cursor or await _connect()
            try:
                return await _run(cursor, sql, values)
            except psycopg.OperationalError:
                if not (is_repeatable and cursor.connection.closed):
                    raise
            cursor = await _connect()
            return await _run(cursor, sql, values)
        finally:
            if cursor is not None and not cursor.connection.closed:
                self.idle.append(cursor)
            self._unused.release()


async def _run(cursor: _Cursor, sql: str, values: Sequence[Any]) -> Rows:
    # A server that cannot be reached ends no statement itself.
    timer = asyncio.get_running_loop().call_later(_TIMEOUT, _cut, cursor.connection)
    try:
        await cursor.execute(sql, values)
        return await cursor.fetchall()
    finally:
        timer.cancel()


def _has_ended(idle: psycopg.AsyncConnection[Any]) -> bool:
    """Return whether an idle connection has ended with its server, which sends something only then."""
    unread = poll()
    unread.register(idle.fileno(), POLLIN)
    return bool(unread.poll(0))


def _cut(waiting: psycopg.AsyncConnection[Any]) -> None:
    """End a connection whose server does not respond, so that its request gets an error."""
    with socket.socket(fileno=waiting.pgconn.socket) as duplicate:
        duplicate.shutdown(socket.SHUT_RDWR)
        duplicate.detach()


async def _connect() -> _Cursor:
    parameters = {name: one for name, one in connection.get_connection_params().items() if name not in _OF_DJANGO}
    # Each statement is prepared at its first run on a connection.
    parameters["prepare_threshold"] = 0
    # The later of two values of an option counts.
    parameters["options"] = f"{_LIMITS} {_PLANS} {parameters['options']}"
    count("database_connections_opened", "fast_path")
    opened = await psycopg.AsyncConnection.connect(**parameters, autocommit=True)
    return opened.cursor()
