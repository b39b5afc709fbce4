"""Pets by the million, in constant memory: rows are set aside as they are checked, and inserted once all have been."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from tempfile import TemporaryFile
from typing import Self

import orjson
from django.db import connection, transaction

from pets.fields import new_pet_id
from pets.files.rows import COLUMNS, Line
from pets.models import Pet
from petservice.db.backend import backend

# Rows that are inserted, looked up or reported at a time.
BATCH = 1000

Problem = tuple[int, str]


class CheckedRows:
    """Rows in a temporary file, ready for the database, each with the line that it is from; no id is there twice."""

    def __init__(self) -> None:
        self.count = 0
        self._file = TemporaryFile()  # noqa: SIM115  # closed by __exit__
        # An empty name is a temporary file too: a set that may be larger than the memory.
        self._ids = sqlite3.connect("")
        self._ids.execute("CREATE TABLE lines (id TEXT PRIMARY KEY, line INTEGER) WITHOUT ROWID")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._file.close()
        self._ids.close()

    def add(self, lines: Sequence[Line]) -> list[Problem]:
        """Set aside what has no problems; returns the problems, ids that were in the file before among them."""
        problems = [(line.number, problem) for line in lines for problem in line.problems]
        good = [(line.number, line.row) for line in lines if line.row is not None]
        problems += self._repeated([(row.id, number) for number, row in good if row.id is not None])
        # SQLite has no times: what stands for one is Django's choice. PostgreSQL reads how orjson writes it.
        stored_time = connection.ops.adapt_datetimefield_value
        stored = [
            (number, (pet_id or new_pet_id(), *others, stored_time(created_at), created_by))
            for number, (pet_id, *others, created_at, created_by) in good
        ]
        self._file.write(orjson.dumps(stored, option=orjson.OPT_APPEND_NEWLINE))
        self.count += len(good)
        return sorted(problems)

    def _repeated(self, ids: list[tuple[str, int]]) -> list[Problem]:
        added = self._ids.executemany("INSERT OR IGNORE INTO lines VALUES (?, ?)", ids).rowcount
        if added == len(ids):
            return []
        first = "SELECT line FROM lines WHERE id = ?"
        lines = [(number, self._ids.execute(first, [pet_id]).fetchone()[0]) for pet_id, number in ids]
        return [(number, f"the id is on line {line} already.") for number, line in lines if line != number]

    def batches(self) -> Iterator[list[tuple[int, list[str | None]]]]:
        """Lists of lines and of what is stored for them."""
        self._file.seek(0)
        for batch in self._file:
            yield orjson.loads(batch)


def insert(batches: Iterable[Sequence[Sequence[str | None]]]) -> None:
    """All of the pets or, when it raises, none; IntegrityError if one of the ids is there already."""
    columns = {field.name: str(field.column) for field in Pet._meta.concrete_fields}
    with transaction.atomic():
        backend().copy_rows(Pet._meta.db_table, [columns[name] for name in COLUMNS], batches)


def existing(checked: CheckedRows) -> Iterator[Problem]:
    """The lines whose ids the database has."""
    for batch in checked.batches():
        lines = {row[0]: number for number, row in batch}
        for pet_id in sorted(Pet.objects.filter(pk__in=lines).values_list("pk", flat=True), key=lines.__getitem__):
            yield lines[pet_id], f"there is a pet with the id {pet_id} already."
