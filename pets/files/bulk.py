"""Import of millions of pets in constant memory: checked rows wait in a temporary file until all rows are checked."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from secrets import randbelow
from tempfile import TemporaryFile
from typing import Any

import orjson
from django.db import connection

from pets.fields import new_pet_id
from pets.files.rows import COLUMNS, Line
from pets.models import Pet
from petservice.db.backend import backend

# Number of rows that are inserted, looked up or reported together.
BATCH = 1000

# The number of a line of the file, and the error on it.
LineError = tuple[int, str]


class CheckedRows(ExitStack):
    """A temporary file of checked rows with their line numbers; each id occurs once."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self.count_without_id = 0
        self._file = self.enter_context(TemporaryFile())  # noqa: SIM115  # closed with the instance
        # SQLite creates a temporary database for an empty name, so the set of ids may exceed the memory.
        self._ids = self.enter_context(closing(sqlite3.connect("")))
        self._ids.execute("CREATE TABLE lines (id TEXT PRIMARY KEY, line INTEGER) WITHOUT ROWID")

    def add(self, lines: Sequence[Line]) -> list[LineError]:
        """Store the rows without errors, and return the errors of the other rows and of repeated ids."""
        errors = [(line.number, error) for line in lines for error in line.errors]
        good = [(line.number, line.row) for line in lines if line.row is not None]
        ids = [(row.id, number) for number, row in good if row.id is not None]
        if self._ids.executemany("INSERT OR IGNORE INTO lines VALUES (?, ?)", ids).rowcount < len(ids):
            for pet_id, number in ids:
                first = self._ids.execute("SELECT line FROM lines WHERE id = ?", [pet_id]).fetchone()[0]
                if first != number:
                    errors.append((number, f"Duplicate ID: also on line {first}."))
        # SQLite has no type for times, so Django defines their format. PostgreSQL reads the format that orjson writes.
        stored_time = connection.ops.adapt_datetimefield_value
        stored = [
            (number, (pet_id or new_pet_id(), *others, stored_time(created_at), created_by))
            for number, (pet_id, *others, created_at, created_by) in good
        ]
        self._file.write(orjson.dumps(stored, option=orjson.OPT_APPEND_NEWLINE))
        self.count += len(good)
        self.count_without_id += len(good) - len(ids)
        return sorted(errors)

    def batches(self) -> Iterator[list[tuple[int, list[str | None]]]]:
        """Yield lists of line numbers and the values to store for them."""
        self._file.seek(0)
        for batch in self._file:
            yield orjson.loads(batch)


def insert(checked: CheckedRows, bar: Any) -> None:
    """Insert all pets in the current transaction, and count them on a progress bar.

    Raises IntegrityError if one of the ids exists already.
    """
    columns = {field.name: str(field.column) for field in Pet._meta.concrete_fields}
    # A row may be a deleted pet again, whose version a list may still show. So all get another one.
    version = randbelow(1 << 30)

    def rows() -> Iterator[list[tuple[Any, ...]]]:
        for batch in checked.batches():
            yield [(*row, version) for _, row in batch]
            bar.update(len(batch))

    backend().copy_rows(Pet._meta.db_table, [*(columns[name] for name in COLUMNS), columns["version"]], rows())


def existing(checked: CheckedRows) -> Iterator[LineError]:
    """Yield an error for each row whose id the database contains already."""
    for batch in checked.batches():
        lines = {row[0]: number for number, row in batch}
        for pet_id in sorted(Pet.objects.filter(pk__in=lines).values_list("pk", flat=True), key=lines.__getitem__):
            yield lines[pet_id], f"A pet with the ID {pet_id} already exists."
