"""The import of millions of pets in constant memory: the file is read twice, to check it and to insert its pets."""

import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Collection, Generator, Iterator
from contextlib import closing, contextmanager, nullcontext
from functools import partial
from hashlib import file_digest
from itertools import chain, islice
from pathlib import Path
from secrets import randbelow
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import IO, Any

from django.core.management.base import CommandError
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from pets import creator
from pets.fields import new_pet_id
from pets.files.csv_rows import ENCODINGS
from pets.files.import_diff import errors_in
from pets.files.reading import checked_lines
from pets.files.rows import COLUMNS, IMPORTED_FORMATS_BY_SUFFIX, Line, word_of
from pets.files.table_columns import DATES, OWN, ColumnMapping
from pets.management.terminal import STANDARD_STREAM, all_or_nothing, format_of, progress
from pets.models import ImportedFile, Pet
from pets.models.pet import count_of_pets
from petservice.db.backend import backend
from petservice.db.pending_migrations import DatabaseCommand
from petservice.journal.models import Event
from petservice.journal.recording import COMMAND, add_event

# Number of rows that are inserted or looked up together.
_BATCH = 1000
# Maximum number of errors that are shown, so that the first ones stay on the screen.
_MAX_ERRORS = 20
_CHANGED = "The file was changed during the import. Nothing was imported."


class Command(DatabaseCommand):
    help = (
        "Import pets in one transaction. JSON is an array, or one object per line. "
        f"Columns, or fields of JSON: {', '.join(COLUMNS)}. Only name is required."
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
        parser.add_argument("--dates", choices=DATES, help="How a table writes days, in the time zone of the store.")
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
        mapping = ColumnMapping(
            names=dict(options["columns"] or ()),
            statuses={word_of(word): status for word, status in options["statuses"] or ()},
            dates=options["dates"] or "",
            **{name: options[name] for name in ("skip_unnamed", "sheet", "encoding")},
        )
        if file_format == "jsonl" and mapping != OWN:
            raise CommandError("JSON takes no --columns, --statuses, --dates, --skip-unnamed, --sheet or --encoding.")
        if mapping.encoding if file_format == "xlsx" else mapping.sheet:
            raise CommandError("Only a workbook takes --sheet, and only a text takes --encoding.")
        with all_or_nothing("imported"), _opened(file) as source:
            self._read = partial(_read, source, file_format, mapping)
            self._digest = partial(_digest, source)
            digest = self._digest()
            count, has_new = self._check()
            self._insert(count, digest, once=has_new and not options["again"])
        self.stderr.write(f"Imported {count_of_pets(count)}.", self.style.SUCCESS)

    def _check(self) -> tuple[int, bool]:
        """Check the whole file before the transaction begins, so that other writers do not wait for it.

        Returns the number of rows, and whether there are some without an id.
        """
        count, has_new = 0, False
        errors: list[tuple[int, str]] = []
        with progress("Checking") as bar:
            for batch in self._read():
                ids = [line.values["id"] for line in batch if "id" in line.values]
                taken = set(Pet.objects.filter(pk__in=ids).values_list("pk", flat=True))
                for line in batch:
                    pk = line.values.get("id")
                    count += 1
                    has_new |= pk is None
                    errors += [(line.number, error) for error in line.errors]
                    if pk in taken:
                        errors.append((line.number, f"A pet with the ID {pk} already exists."))
                bar.update(len(batch))
                if len(errors) >= _MAX_ERRORS:
                    break
        self._reject(errors)
        return count, has_new

    def _insert(self, count: int, digest: str, *, once: bool) -> None:
        """Insert all pets in one transaction, if `once` only if no other import has inserted those of the file."""
        columns = {field.name: str(field.column) for field in Pet._meta.concrete_fields}
        names = [columns[name] for name in (*COLUMNS, "version")]
        try:
            with progress("Importing", count) as bar, transaction.atomic(), closing(self._rows(bar)) as rows:
                if not ImportedFile.lock(digest) and once:
                    raise CommandError("Another import of this file is running. Nothing was imported.")
                if once and (imported := ImportedFile.last(digest)):
                    raise CommandError(
                        f"This file was imported before: on {imported}. Nothing was imported. "
                        "Add --again to import it once more; its rows without an ID then add their pets again."
                    )
                backend().copy_rows(Pet._meta.db_table, names, rows)
                if self._digest() != digest:
                    raise CommandError(_CHANGED)
                message = f"Import: {count_of_pets(count)} added by the command import_pets."
                add_event(None, Event.Kind.IMPORTED, target=Pet, message=message, count=count)
                ImportedFile.objects.create(digest=digest, imported_by=COMMAND, count=count)
        except IntegrityError:  # an id is twice in the file, or someone has created its pet after the check
            self._reject([*islice(errors_in(chain.from_iterable(self._read())), _MAX_ERRORS)])
            self._check()
            raise

    def _rows(self, bar: Any) -> Generator[list[tuple[Any, ...]]]:
        """Yield the rows of the table of pets, and count them on a progress bar."""
        # A row may be a deleted pet again, whose version a list may still show. So all get another one.
        version = randbelow(1 << 30)
        usual: dict[str, Any] = {"status": Pet.Status.AVAILABLE.value, "created_by": creator.of_command("import_pets")}
        for batch in self._read():
            rows = []
            for line in batch:
                if line.errors:
                    raise CommandError(_CHANGED)
                # Each pet has a time of its own, because the lists sort those with one time by id.
                own = {"id": new_pet_id(), "created_at": timezone.now()}
                row = dict.fromkeys(COLUMNS) | usual | own | line.values
                row["created_at"] = connection.ops.adapt_datetimefield_value(row["created_at"])
                rows.append((*row.values(), version))
            yield rows
            bar.update(len(batch))

    def _reject(self, errors: list[tuple[int, str]]) -> None:
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


def _digest(source: Any) -> str:
    source.seek(0)
    return file_digest(source, "sha256").hexdigest()


def _read(source: IO[bytes], kind: str, mapping: ColumnMapping) -> Iterator[list[Line]]:
    """Yield batches of the lines of a file, from its beginning."""
    source.seek(0)
    with closing(checked_lines(source, kind, mapping)) as lines:
        while batch := [*islice(lines, _BATCH)]:
            yield batch


@contextmanager
def _opened(file: str) -> Iterator[Any]:
    """Open a file. Pipes are copied to the disk, because a file is read twice, and a workbook from its end."""
    if file != STANDARD_STREAM and Path(file).is_file():
        with Path(file).open("rb") as source:
            yield source
        return
    with TemporaryFile() as copy:
        with Path(file).open("rb") if file != STANDARD_STREAM else nullcontext(sys.stdin.buffer) as stream:
            copyfileobj(stream, copy)
        copy.seek(0)
        yield copy
