import gc
import sqlite3
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, Any

from django.core.management.base import CommandError
from django.db import DatabaseError, IntegrityError
from django.utils import timezone

from pets import creator
from pets.files.bulk import BATCH, CheckedRows, Problem, existing, insert
from pets.files.reading import read
from pets.files.rows import COLUMNS, KINDS
from pets.management.terminal import STANDARD_STREAM, kind_of, progress, reason, throughput
from petservice.db.commands import DatabaseCommand

# More of them help nobody.
_MAX_PROBLEMS = 20


class Command(DatabaseCommand):
    help = (
        f"Create pets from the rows of a file, all or none. CSV begins with a line that names the columns, out of "
        f"{', '.join(COLUMNS)}; JSON, an array or lines, has objects with these members. Only name is required."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", help=".csv, or JSON: .jsonl, .ndjson, .json; - for standard input")
        parser.add_argument(
            "--format", choices=KINDS, help="for standard input, and if the name does not tell; jsonl is an array, too"
        )

    def handle(self, *args: Any, file: str, **options: Any) -> None:
        # The admin exports arrays.
        kind = "csv" if kind_of(file, options["format"]) == "csv" else "json"
        started = time.monotonic()
        try:
            with _no_garbage_collection(), CheckedRows() as checked:
                with _opened(file) as source:
                    self._check(source, kind, checked)
                self._insert(checked)
        except KeyboardInterrupt:
            raise CommandError("Interrupted: nothing was imported.", returncode=130) from None
        except OSError as error:
            raise CommandError(f"{reason(error)}. Nothing was imported.") from None
        except (DatabaseError, sqlite3.Error) as error:
            raise CommandError(f"The database refuses: {str(error).strip()}. Nothing was imported.") from None
        self.stderr.write(throughput("Imported", checked.count, time.monotonic() - started), self.style.SUCCESS)

    def _check(self, source: IO[bytes], kind: str, checked: CheckedRows) -> None:
        """Read everything, far from the database, so that its writers wait for no file."""
        lines = read(source, kind, now=timezone.now(), created_by=creator.of_command("import_pets"))
        problems: list[Problem] = []
        with closing(lines), progress("Checking") as bar:
            while len(problems) < _MAX_PROBLEMS and (batch := list(islice(lines, BATCH))):
                problems += checked.add(batch)
                bar.update(len(batch))
        self._refuse(problems)

    def _insert(self, checked: CheckedRows) -> None:
        try:
            with progress("Importing", checked.count) as bar:
                insert(_rows(checked, bar))
        except IntegrityError:
            self._refuse(list(islice(existing(checked), _MAX_PROBLEMS)))
            raise  # for another reason, or the pet in the way has gone since

    def _refuse(self, problems: list[Problem]) -> None:
        for number, problem in problems[:_MAX_PROBLEMS]:
            self.stderr.write(f"line {number}: {problem}")
        if problems:
            more = " There may be more to correct." if len(problems) >= _MAX_PROBLEMS else ""
            raise CommandError(f"Nothing was imported.{more}")


def _rows(checked: CheckedRows, bar: Any) -> Iterator[list[list[str | None]]]:
    for batch in checked.batches():
        yield [row for _, row in batch]
        bar.update(len(batch))


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Without looking for cycles, of which millions of rows make none: that takes a fifth of the time of checking."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def _opened(file: str) -> Iterator[IO[bytes]]:
    if file == STANDARD_STREAM:
        yield sys.stdin.buffer
    else:
        with Path(file).open("rb") as source:
            yield source
