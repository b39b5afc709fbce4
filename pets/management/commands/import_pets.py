"""The import of millions of pets in constant memory: checked rows wait in a temporary database."""

import sqlite3
import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, closing, nullcontext
from hashlib import file_digest
from itertools import islice
from pathlib import Path
from secrets import randbelow
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import Any

import orjson
from django.core.management.base import CommandError
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from pets import creator
from pets.fields import new_pet_id
from pets.files.columns import DATES, ColumnMapping
from pets.files.csv_rows import ENCODINGS
from pets.files.reading import checked_lines
from pets.files.rows import COLUMNS, IMPORTED_FORMATS_BY_SUFFIX, File, Line
from pets.management.terminal import STANDARD_STREAM, all_or_nothing, format_of, progress
from pets.models import ImportedFile, Pet
from pets.models.pet import count_of_pets
from petservice.db.backend import backend
from petservice.db.pending_migrations import DatabaseCommand
from petservice.journal.models import Event
from petservice.journal.recording import COMMAND, record

# Number of rows that are inserted or looked up together.
_BATCH = 1000
# Maximum number of errors that are shown, so that the first ones stay on the screen.
_MAX_ERRORS = 20

# The number of a line of the file, and the error on it.
LineError = tuple[int, str]


class CheckedRows:
    """Checked rows in a temporary database, with their line numbers; each id occurs once."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self.count = self.count_without_id = 0
        self._database = database
        self._database.execute("CREATE TABLE rows (id TEXT PRIMARY KEY, line INTEGER, pet TEXT)")

    def add(self, line: Line) -> list[LineError]:
        """Store a row, or return its errors."""
        if (row := line.row) is None:
            return [(line.number, error) for error in line.errors]
        pet_id = row.id or new_pet_id()
        # SQLite has no type for times, so Django defines their format. PostgreSQL reads the format that orjson writes.
        created_at = connection.ops.adapt_datetimefield_value(row.created_at)
        pet = orjson.dumps([*(row._asdict() | {"id": pet_id, "created_at": created_at}).values()])
        stored = self._database.execute("INSERT OR IGNORE INTO rows VALUES (?, ?, ?)", [pet_id, line.number, pet])
        if not stored.rowcount:
            (first,) = self._database.execute("SELECT line FROM rows WHERE id = ?", [pet_id]).fetchone()
            return [(line.number, f"Duplicate ID: also on line {first}.")]
        self.count += 1
        self.count_without_id += row.id is None
        return []

    def _batches(self, columns: str) -> Iterator[list[Any]]:
        rows = self._database.execute(f"SELECT {columns} FROM rows ORDER BY rowid")  # noqa: S608  # our own names
        while batch := rows.fetchmany(_BATCH):
            yield batch

    def insert(self, bar: Any) -> None:
        """Insert all pets in the current transaction, and count them on a progress bar.

        Raises IntegrityError if one of the ids exists already.
        """
        columns = {field.name: str(field.column) for field in Pet._meta.concrete_fields}
        # A row may be a deleted pet again, whose version a list may still show. So all get another one.
        version = randbelow(1 << 30)

        def rows() -> Iterator[list[tuple[Any, ...]]]:
            for batch in self._batches("pet"):
                yield [(*orjson.loads(pet), version) for (pet,) in batch]
                bar.update(len(batch))

        backend().copy_rows(Pet._meta.db_table, [*(columns[name] for name in COLUMNS), columns["version"]], rows())

    def existing(self) -> Iterator[LineError]:
        """Yield an error for each row whose id the database contains already."""
        for batch in self._batches("id, line"):
            ids = set(Pet.objects.filter(pk__in=[pk for pk, _ in batch]).values_list("pk", flat=True))
            yield from ((line, f"A pet with the ID {pk} already exists.") for pk, line in batch if pk in ids)


class Command(DatabaseCommand):
    help = (
        f"Import pets in one transaction. The first row of a table names the columns. JSON is an array, or one object "
        f"per line. Columns, or fields of JSON: {', '.join(COLUMNS)}. Only name is required."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", help=f"{', '.join(IMPORTED_FORMATS_BY_SUFFIX)}; or - for standard input.")
        parser.add_argument(
            "--format",
            choices=sorted({*IMPORTED_FORMATS_BY_SUFFIX.values()}),
            help="File format; required for standard input or an unknown extension. jsonl includes arrays.",
        )
        parser.add_argument(
            "--columns",
            nargs="+",
            type=_pair_with(COLUMNS),
            metavar="NAME=COLUMN",
            help="The meaning of the columns of a table, for example Species=tag. All others are left out.",
        )
        parser.add_argument(
            "--statuses",
            nargs="+",
            type=_pair_with(Pet.Status.values),
            metavar="WORD=STATUS",
            help="The meaning of the words of a table for statuses, for example adopted=sold.",
        )
        parser.add_argument("--dates", choices=DATES, help="How a table writes days, in the time zone of the service.")
        parser.add_argument("--skip-unnamed", action="store_true", help="Leave out the rows of a table without a name.")
        parser.add_argument("--sheet", default="", help="The sheet of a workbook, instead of the first visible one.")
        parser.add_argument(
            "--encoding", choices=ENCODINGS, default="", help="The encoding of a text that is not UTF-8 or UTF-16."
        )
        parser.add_argument(
            "--again",
            action="store_true",
            help="Import a file that was imported before. Its rows without an ID add their pets again.",
        )

    def handle(self, *args: Any, file: str, **options: Any) -> None:
        file_format = format_of(file, options["format"], IMPORTED_FORMATS_BY_SUFFIX)
        self._mapping = ColumnMapping(
            names=dict(options["columns"] or ()),
            statuses={word.strip().lower(): status for word, status in options["statuses"] or ()},
            dates=options["dates"] or "",
            **{name: options[name] for name in ("skip_unnamed", "sheet", "encoding")},
        )
        with all_or_nothing("imported"), ExitStack() as stack:
            source = _opened(file, stack)
            # SQLite creates a temporary file for an empty name, so that the rows may exceed the memory.
            checked = CheckedRows(stack.enter_context(closing(sqlite3.connect(""))))
            digest = file_digest(source, "sha256").hexdigest()
            source.seek(0)
            self._check(source, file_format, checked)
            imported = ImportedFile.last(digest)
            if imported and checked.count_without_id and not options["again"]:
                raise CommandError(
                    f"This file was imported before: on {imported}. Nothing was imported. "
                    "Add --again to import it once more; its rows without an ID then add their pets again."
                )
            self._insert(checked, digest)
        self.stderr.write(f"Imported {count_of_pets(checked.count)}.", self.style.SUCCESS)

    def _check(self, source: File, file_format: str, checked: CheckedRows) -> None:
        """Read and check the whole file before the transaction begins, so that other writers do not wait for it."""
        created_by = creator.of_command("import_pets")
        lines = checked_lines(source, file_format, now=timezone.now(), created_by=created_by, mapping=self._mapping)
        errors: list[LineError] = []
        with closing(lines), progress("Checking") as bar:
            for line in lines:
                errors += checked.add(line)
                bar.update()
                if len(errors) >= _MAX_ERRORS:
                    break
        self._reject(errors)

    def _insert(self, checked: CheckedRows, digest: str) -> None:
        try:
            with progress("Importing", checked.count) as bar, transaction.atomic():
                checked.insert(bar)
                message = "Imported by the command import_pets."
                record(None, Event.Kind.IMPORTED, target=Pet, message=message, count=checked.count)
                ImportedFile.objects.create(digest=digest, imported_by=COMMAND, count=checked.count)
        except IntegrityError:
            self._reject(list(islice(checked.existing(), _MAX_ERRORS)))
            raise  # for another reason, or the existing pet was deleted in between

    def _reject(self, errors: list[LineError]) -> None:
        for number, error in errors[:_MAX_ERRORS]:
            self.stderr.write(f"line {number}: {error}" if number else error)
        if errors:
            more = " There may be more errors." if len(errors) >= _MAX_ERRORS else ""
            raise CommandError(f"Nothing was imported.{more}")


def _pair_with(meanings: Collection[str]) -> Callable[[str], tuple[str, str]]:
    """Return a parser of an option that gives a word of the file one of these meanings."""

    def parse(text: str) -> tuple[str, str]:
        word, _, meaning = text.rpartition("=")
        if not word or meaning not in meanings:
            raise ArgumentTypeError(f"{text!r} must be a text of the file, =, and one of {', '.join(meanings)}.")
        return word, meaning

    return parse


def _opened(file: str, stack: ExitStack) -> File:
    """Open a file. Pipes are copied to the disk, because a file is read twice, and a workbook from its end."""
    if file != STANDARD_STREAM and Path(file).is_file():
        return stack.enter_context(Path(file).open("rb"))
    with Path(file).open("rb") if file != STANDARD_STREAM else nullcontext(sys.stdin.buffer) as source:
        copy = stack.enter_context(TemporaryFile())  # noqa: SIM115  # the stack closes it
        copyfileobj(source, copy)
    copy.seek(0)
    return copy
