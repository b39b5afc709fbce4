"""The statements of the fast path on PostgreSQL, through psycopg's asynchronous connections."""

import asyncio
import socket
from collections.abc import Sequence
from select import POLLIN, poll
from typing import Any

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections

from pets import creator
from pets.models import IdempotencyRecord, Pet
from pets.services import lock_name
from petservice.fastpath.statements import Insert, Rows, Statements
from petservice.fastpath.usual import UsualRequest
from petservice.monitoring.counters import count

# Number of connections for reads, and of those for inserts, so that no read waits for an insert.
_CONNECTIONS = 3
# Seconds that a request waits for a connection, and that a statement may run.
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
# The free places for connections. A connection is made when its place is first needed.
_Places = asyncio.LifoQueue[_Cursor | None]

# The key and the rows of a statement in one round trip. Without rows, there is one with the key alone.
_READ = "WITH k AS ({key}) SELECT k.id, k.usable, found.* FROM k LEFT JOIN ({statement}) found ON k.usable ORDER BY 3"
_CREATE = """WITH k AS ({key}), created AS (
{pet.into} SELECT {pet.expressions} FROM k WHERE usable AND may_write RETURNING 1)
SELECT id, EXISTS (SELECT FROM created) FROM k"""
_CREATE_ONCE = """WITH k AS ({key}), record AS (
{record.into} SELECT {record.expressions} FROM k
WHERE usable AND may_write AND pg_try_advisory_xact_lock(hashtextextended(%s, k.id)) ON CONFLICT DO NOTHING RETURNING 1
), created AS ({pet.into} SELECT {pet.expressions} FROM k, record RETURNING 1)
SELECT id, EXISTS (SELECT FROM created) FROM k"""


class PostgreSQL:
    """The database of one worker process."""

    def __init__(self) -> None:
        connection: Any = connections[DEFAULT_DB_ALIAS]
        self._statements = Statements(connection, _READ)
        created_by = creator.of_key("' || k.prefix || '", "' || k.name || '")
        self._pet = Insert(Pet, connection, {"created_by": f"'{created_by}'"})
        self._record = Insert(IdempotencyRecord, connection, {"api_key_id": "k.id"})
        parts = {"key": self._statements.key, "pet": self._pet, "record": self._record}
        self._create, self._create_once = _CREATE.format_map(parts), _CREATE_ONCE.format_map(parts)
        self._reading: _Places = asyncio.LifoQueue()
        self._writing: _Places = asyncio.LifoQueue()
        for places in (self._reading, self._writing):
            for _ in range(_CONNECTIONS):
                places.put_nowait(None)

    async def read(self, key: str, request: UsualRequest) -> tuple[int, Rows | None] | None:
        """Return the id of an API key and what a request finds, or None for the rows if the key is not usable.

        Returns None if the key is unknown.
        """
        sql, values = self._statements.reading(request)
        rows = await _rows(self._reading, sql, (*self._statements.key_values(key), *values), is_read=True)
        if not rows:
            return None
        key_id, is_usable, *first = rows[0]
        if not is_usable:
            return key_id, None
        return key_id, [] if first[0] is None else [row[2:] for row in rows]

    async def create(self, key: str, pet: dict[str, Any], record: dict[str, Any] | None) -> tuple[int, bool] | None:
        """Create a pet, and the record of its Idempotency-Key, if the key may do so.

        Returns the id of the API key and whether the pet was created, or None if the key is unknown.
        """
        values = [*self._statements.key_values(key)]
        if record is not None:
            values += [*self._record.values(record), lock_name(record["key"])]
        values += self._pet.values(pet)
        rows = await _rows(self._writing, self._create if record is None else self._create_once, values)
        return (rows[0][0], rows[0][1]) if rows else None

    def close(self) -> None:
        """Do nothing: the connections end with the process."""


async def _rows(places: _Places, sql: str, values: Sequence[Any], *, is_read: bool = False) -> Rows:
    """Run a statement on a free connection, and return its rows. A read is repeated once if the connection has died.

    Raises psycopg's errors, and TimeoutError if no connection is free in time.
    """
    if places.empty():
        async with asyncio.timeout(_TIMEOUT):
            cursor = await places.get()
    else:
        cursor = places.get_nowait()
    try:
        if cursor is not None and _has_ended(cursor.connection):
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
        places.put_nowait(None if cursor is None or cursor.connection.closed else cursor)


async def _run(cursor: _Cursor, sql: str, values: Sequence[Any]) -> Rows:
    # A server that cannot be reached ends no statement itself.
    timer = asyncio.get_running_loop().call_later(_TIMEOUT, _cut, cursor.connection)
    try:
        await cursor.execute(sql, values)
        return await cursor.fetchall()
    finally:
        timer.cancel()


def _has_ended(connection: psycopg.AsyncConnection[Any]) -> bool:
    """Return whether an unused connection has ended with its server, which sends something only then."""
    unread = poll()
    unread.register(connection.fileno(), POLLIN)
    return bool(unread.poll(0))


def _cut(connection: psycopg.AsyncConnection[Any]) -> None:
    """End a connection whose server does not respond, so that its request gets an error."""
    with socket.socket(fileno=connection.pgconn.socket) as duplicate:
        duplicate.shutdown(socket.SHUT_RDWR)
        duplicate.detach()


async def _connect() -> _Cursor:
    wrapper: Any = connections[DEFAULT_DB_ALIAS]
    parameters = {name: one for name, one in wrapper.get_connection_params().items() if name not in _OF_DJANGO}
    # Each statement is prepared at its first run on a connection.
    parameters["prepare_threshold"] = 0
    # The later of two values of an option counts.
    parameters["options"] = f"{_LIMITS} {_PLANS} {parameters.get('options', '')}".strip()
    count("database_connections_opened", "fast_path")
    connection = await psycopg.AsyncConnection.connect(**parameters, autocommit=True)
    return connection.cursor()
