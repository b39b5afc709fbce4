"""The statements of the fast path on SQLite: reads on the event loop, and inserts on a thread that shares commits.

SQLite has one writer at a time, and each commit waits for the disk. Ten inserts in one transaction cost little more
than one.
"""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections

from pets import creator
from pets.models import IdempotencyRecord, Pet
from petservice.fastpath.shared_writes import SharedWrites
from petservice.fastpath.statements import Insert, Rows, Statements, names
from petservice.fastpath.usual import UsualRequest


class SQLite:
    """The database of one worker process."""

    def __init__(self) -> None:
        self._connection = _connect()
        # A write that waits for SQLite's lock would block all other requests.
        self._connection.execute("PRAGMA query_only = ON")
        self._statements = Statements()
        self._pet = Insert(Pet)
        self._record = Insert(IdempotencyRecord)
        self._once = f"ON CONFLICT DO NOTHING RETURNING {names(IdempotencyRecord)['pet_id']}"
        self._creations = SharedWrites(self._write)
        self._thread = ThreadPoolExecutor(1, "fastpath-writer")
        # The connection of the thread, once it has one. Closing it rolls back.
        self._writer: Any = None

    def _key(self, key: str) -> tuple[Any, ...] | None:
        """Return the row of an API key, or None if the key is unknown."""
        values = self._statements.key_values(key)
        row: tuple[Any, ...] | None = self._connection.execute(self._statements.key, values).fetchone()
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
        rows = self._connection.execute(*self._statements.reading(request)).fetchall() if is_usable else None
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
        of_record = {"api_key_id": key_id, "key": idempotency_key, "pet_id": pet["id"]}
        return key_id, await self._creations.add(pet | of_record | {"created_by": creator.of_key(prefix, name)})

    async def _write(self, creations: list[dict[str, Any]]) -> Sequence[bool]:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._write_together, creations)

    def _write_together(self, creations: list[dict[str, Any]]) -> Sequence[bool]:
        """Create pets in one transaction, and return for each whether it was created. Runs on the thread."""
        connection = self._writer = self._writer or _connect()
        try:
            connection.execute("BEGIN IMMEDIATE")
            records = [one for one in creations if one["key"] is not None]
            new = {pet_id for (pet_id,) in _insert(connection, self._record, records, self._once)} if records else ()
            outcomes = [one["key"] is None or one["id"] in new for one in creations]
            if pets := [one for one, is_new in zip(creations, outcomes, strict=True) if is_new]:
                _insert(connection, self._pet, pets)
            connection.execute("COMMIT")
        except BaseException:
            self._writer = None
            connection.close()
            raise
        return outcomes


def _connect() -> Any:
    """Return a connection of sqlite3 for this thread, with the settings and functions of Django's."""
    wrapper = connections[DEFAULT_DB_ALIAS].copy()
    wrapper.connect()
    return wrapper.connection


def _insert(connection: Any, insert: Insert, given: list[dict[str, Any]], end: str = "") -> Rows:
    """Insert rows with the given values, and return what the end of the statement says.

    They are one statement, because the full-text index writes its words at the end of each statement.
    """
    rows = [insert.values(one) for one in given]
    places = ", ".join("?" for _ in rows[0])
    values = ", ".join([f"({places})"] * len(rows))
    statement = f"{insert.into} VALUES {values} {end}"
    inserted: Rows = connection.execute(statement, [*chain.from_iterable(rows)]).fetchall()
    return inserted
