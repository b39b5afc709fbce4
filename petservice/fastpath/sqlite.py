"""The statements of the fast path on SQLite: reads on the event loop, and inserts on a thread that shares commits.

SQLite has one writer at a time, and each commit waits for the disk. Ten inserts in one transaction cost little more
than one.
"""

import asyncio
import sqlite3
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import Any, NamedTuple

from django.db import DEFAULT_DB_ALIAS, connections

from pets import creator
from pets.models import IdempotencyRecord, Pet
from petservice.fastpath.statements import Insert, Rows, Statements, names, settle
from petservice.fastpath.usual import UsualRequest

# Seconds that an insert waits for others to join its transaction. Writing to a disk takes longer than that.
_GATHERING_INTERVAL = 0.001
# Maximum number of creations in one transaction, so that other writers do not wait long.
_MAX_CREATIONS = 100


class _Creation(NamedTuple):
    """The parameters of a new pet, and those of the record of its Idempotency-Key, if it has one."""

    pet_id: str
    pet: Sequence[Any]
    record: Sequence[Any] | None
    # Whether the pet was created; False if there is a record for its key.
    is_done: asyncio.Future[bool]


class SQLite:
    """The database of one worker process."""

    def __init__(self) -> None:
        self._connection = _connect()
        # A write that waits for SQLite's lock would block all other requests.
        self._connection.execute("PRAGMA query_only = ON")
        self._statements = Statements(connections[DEFAULT_DB_ALIAS])
        self._pet = Insert(Pet, connections[DEFAULT_DB_ALIAS])
        self._record = Insert(IdempotencyRecord, connections[DEFAULT_DB_ALIAS])
        pet_id = names(IdempotencyRecord, connections[DEFAULT_DB_ALIAS])["pet_id"]
        self._once = f"ON CONFLICT DO NOTHING RETURNING {pet_id}"
        # What waits for the next transaction, and the task that writes while something waits.
        self._waiting: list[_Creation] = []
        self._task: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, "fastpath-writer")
        # The connection of the thread, once it has one.
        self._writer: Any = None

    def _key(self, key: str) -> tuple[Any, ...] | None:
        """Return the row of an API key, or None if the key is unknown."""
        values = self._statements.key_values(key)
        row: tuple[Any, ...] | None = _run(self._connection, self._statements.key, values).fetchone()
        return row

    async def find(self, key: str, request: UsualRequest) -> tuple[int, Rows | None] | None:
        """Return the id of an API key and what a request finds, or None for the rows if the key is not usable.

        Returns None if the key is unknown.
        """
        # Two statements cost less than one that joins them, because each is only a call of a function.
        found = self._key(key)
        if found is None:
            return None
        key_id, _, _, _, is_usable = found
        rows = _run(self._connection, *self._statements.reading(request)).fetchall() if is_usable else None
        return key_id, rows

    async def create(self, key: str, pet: dict[str, Any], idempotency_key: str | None) -> tuple[int, bool] | None:
        """Create a pet, and the record of its Idempotency-Key if it has one, if the API key may do so.

        Returns the id of the API key and whether the pet was created, or None if the key is unknown.
        """
        # The key is read before the insert, so that strangers do not occupy the only writer.
        found = self._key(key)
        if found is None:
            return None
        key_id, may_write, prefix, name, is_usable = found
        if not (is_usable and may_write):
            return key_id, False
        record = None
        if idempotency_key is not None:
            names_it = {"api_key_id": key_id, "key": idempotency_key, "pet_id": pet["id"]}
            record = self._record.values(pet | names_it)
        values = self._pet.values(pet | {"created_by": creator.of_key(prefix, name)})
        creation = _Creation(pet["id"], values, record, asyncio.get_running_loop().create_future())
        self._waiting.append(creation)
        if self._task is None:
            self._task = asyncio.create_task(self._write_waiting())
        return key_id, await creation.is_done

    async def _write_waiting(self) -> None:
        """Write what waits, in one transaction after the other, until nothing waits."""
        while self._waiting:
            await asyncio.sleep(_GATHERING_INTERVAL)
            creations, self._waiting = self._waiting[:_MAX_CREATIONS], self._waiting[_MAX_CREATIONS:]
            outcomes: Sequence[bool | Exception]
            try:
                outcomes = await asyncio.get_running_loop().run_in_executor(self._thread, self._write, creations)
            except Exception as error:  # each request must get a response
                outcomes, self._writer = [error] * len(creations), None
            settle([creation.is_done for creation in creations], outcomes)
        self._task = None

    def close(self) -> None:
        """Close both connections, after the transaction that runs. No request may follow.

        SQLite removes its journal when the last connection is closed, so that the database is one file.
        """
        self._thread.shutdown()
        if self._writer is not None:
            self._writer.close()
        self._connection.close()

    # The following runs on the thread.

    def _write(self, creations: Sequence[_Creation]) -> Sequence[bool | Exception]:
        """Create pets in one transaction, and return for each whether it was created, or the error."""
        connection = self._writer = self._writer or _connect()
        connection.execute("BEGIN IMMEDIATE")
        try:
            records = [creation.record for creation in creations if creation.record is not None]
            new = {pet_id for (pet_id,) in _insert(connection, self._record, records, self._once)} if records else ()
            outcomes = [creation.record is None or creation.pet_id in new for creation in creations]
            if pets := [creation.pet for creation, is_new in zip(creations, outcomes, strict=True) if is_new]:
                _insert(connection, self._pet, pets)
            connection.execute("COMMIT")
        except sqlite3.IntegrityError as error:
            connection.execute("ROLLBACK")
            # One of them violates a constraint. Written by itself, it fails alone.
            return [error] if len(creations) == 1 else [self._write([one])[0] for one in creations]
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return outcomes


def _connect() -> Any:
    """Return a connection of sqlite3 for this thread, with the settings and functions of Django's."""
    wrapper = connections[DEFAULT_DB_ALIAS].copy()
    wrapper.connect()
    return wrapper.connection


def _insert(connection: Any, insert: Insert, rows: Sequence[Sequence[Any]], end: str = "") -> Rows:
    """Insert rows, and return what the end of the statement says.

    They are one statement, because the full-text index writes its words at the end of each statement.
    """
    places = ", ".join("?" for _ in rows[0])
    values = ", ".join([f"({places})"] * len(rows))
    inserted: Rows = _run(connection, f"{insert.into} VALUES {values} {end}", [*chain.from_iterable(rows)]).fetchall()
    return inserted


def _run(connection: Any, sql: str, values: Sequence[Any]) -> Any:
    """Run a statement with Django's placeholders, and return its cursor."""
    return connection.execute(sql.replace("%s", "?"), values)
