import gc
import io
import sqlite3
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from typing import IO, Any

from django.core.management.base import CommandError
from django.db import DatabaseError, IntegrityError, transaction
from django.utils import timezone

from pets import creator
from pets.files.bulk import BATCH, CheckedRows, LineError, existing, insert
from pets.files.hashing import HashedFile
from pets.files.reading import read
from pets.files.rows import COLUMNS, FORMATS
from pets.management.terminal import format_of, progress, throughput
from pets.models import ImportedFile, Pet
from petservice.db.commands import DatabaseCommand
from petservice.exports.files import STANDARD_STREAM, reason
from petservice.journal.models import Event
from petservice.journal.recording import COMMAND, record

# Maximum number of errors that are shown, so that the first ones stay on the screen.
_MAX_ERRORS = 20


class Command(DatabaseCommand):
    help = (
        f"Import pets in one transaction. A CSV file needs a header row. JSON is an array, or one object per line. "
        f"Columns, or fields of JSON: {', '.join(COLUMNS)}. Only name is required."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", help=".csv, or JSON: .jsonl, .ndjson, .json. - for standard input.")
        parser.add_argument(
            "--format",
            choices=FORMATS,
            help="File format; required for standard input or an unknown extension. jsonl includes arrays.",
        )

        parser.add_argument(
            "--again",
            action="store_true",
            help="Import a file that was imported before. Its rows without an ID add their pets again.",
        )

    def handle(self, *args: Any, file: str, **options: Any) -> None:
        file_format = format_of(file, options["format"])
        started = time.monotonic()
        gc.disable()  # the search for cycles takes time for millions of rows and finds nothing
        try:
            with CheckedRows() as checked:
                hashed = HashedFile(sys.stdin.fileno() if file == STANDARD_STREAM else file)
                with io.BufferedReader(hashed) as source:
                    self._check(source, file_format, checked)
                digest = hashed.hash.hexdigest()
                if checked.count_without_id and not options["again"]:
                    _reject_imported(digest)
                self._insert(checked, digest)
        except KeyboardInterrupt:
            raise CommandError("Interrupted: nothing was imported.", returncode=130) from None
        except OSError as error:
            raise CommandError(f"{reason(error)}. Nothing was imported.") from None
        except (DatabaseError, sqlite3.Error) as error:
            raise CommandError(f"Database error: {str(error).strip()}. Nothing was imported.") from None
        finally:
            gc.enable()
        self.stderr.write(throughput("Imported", checked.count, time.monotonic() - started), self.style.SUCCESS)

    def _check(self, source: IO[bytes], file_format: str, checked: CheckedRows) -> None:
        """Read and check the whole file before the transaction begins, so that other writers do not wait for it."""
        lines = read(source, file_format, now=timezone.now(), created_by=creator.of_command("import_pets"))
        errors: list[LineError] = []
        with closing(lines), progress("Checking") as bar:
            while len(errors) < _MAX_ERRORS and (batch := list(islice(lines, BATCH))):
                errors += checked.add(batch)
                bar.update(len(batch))
        self._reject(errors)

    def _insert(self, checked: CheckedRows, digest: str) -> None:
        try:
            with progress("Importing", checked.count) as bar, transaction.atomic():
                insert(_rows(checked, bar))
                message = "Imported by the command import_pets."
                record(None, Event.Kind.IMPORTED, target=Pet, message=message, count=checked.count)
                ImportedFile.objects.create(digest=digest, imported_by=COMMAND, count=checked.count)
        except IntegrityError:
            self._reject(list(islice(existing(checked), _MAX_ERRORS)))
            raise  # for another reason, or the existing pet was deleted in between

    def _reject(self, errors: list[LineError]) -> None:
        for number, error in errors[:_MAX_ERRORS]:
            self.stderr.write(f"line {number}: {error}")
        if errors:
            more = " There may be more errors." if len(errors) >= _MAX_ERRORS else ""
            raise CommandError(f"Nothing was imported.{more}")


def _reject_imported(digest: str) -> None:
    """Raise CommandError if a file with this content was imported before."""
    if imported := ImportedFile.last(digest):
        raise CommandError(
            f"This file was imported before: on {imported}. Nothing was imported. "
            "Add --again to import it once more; its rows without an ID then add their pets again."
        )


def _rows(checked: CheckedRows, bar: Any) -> Iterator[list[list[str | None]]]:
    for batch in checked.batches():
        yield [row for _, row in batch]
        bar.update(len(batch))
