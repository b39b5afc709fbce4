import os
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from django.core.management.base import CommandError
from django.db import DatabaseError, transaction

from pets.files.rows import COLUMNS, FORMATS, Row
from pets.files.writing import write
from pets.management.terminal import STANDARD_STREAM, format_of, progress, reason, throughput
from pets.models import Pet
from petservice.audit.models import AuditEntry
from petservice.audit.recording import record
from petservice.db.backend import backend
from petservice.db.commands import DatabaseCommand

# Number of rows that the database sends together.
_BATCH = 2000


class Command(DatabaseCommand):
    help = "Export all pets to a file, oldest first. The file is a snapshot that import_pets can read."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "file",
            help=".csv, or JSON lines: .jsonl, .ndjson, .json. An existing file is replaced. - for standard output.",
        )
        parser.add_argument(
            "--format", choices=FORMATS, help="File format; required for standard output or an unknown extension."
        )

    def handle(self, *args: Any, file: str, **options: Any) -> None:
        file_format = format_of(file, options["format"])
        started = time.monotonic()
        try:
            with (
                progress("Exporting") as bar,
                _opened(file) as target,
                backend().read_consistently(),
            ):
                for part in write(self._rows(bar), file_format):
                    target.write(part)
        except BrokenPipeError:
            # The reader has closed the pipe. Python would report an error when it closes standard output.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return
        except KeyboardInterrupt:
            raise CommandError("Interrupted: nothing was exported.", returncode=130) from None
        except OSError as error:
            raise CommandError(f"{reason(error)}. Nothing was exported.") from None
        except DatabaseError as error:
            raise CommandError(f"Database error: {str(error).strip()}. Nothing was exported.") from None
        self._record()
        self.stderr.write(throughput("Exported", self._count, time.monotonic() - started), self.style.SUCCESS)

    def _record(self) -> None:
        """Record the export in the audit. A full disk does not fail the export, because pets may have to be saved."""
        try:
            message = "Exported by the command export_pets."
            with transaction.atomic():
                record(None, AuditEntry.Kind.EXPORTED, target=Pet, message=message, count=self._count)
        except DatabaseError as error:
            self.stderr.write(f"The audit cannot be written ({str(error).strip()}). The export is complete.")

    def _rows(self, bar: Any) -> Iterator[Row]:
        self._count = 0
        pets = Pet.objects.order_by("pk").values_list(*COLUMNS)
        for values in pets.iterator(chunk_size=_BATCH):
            yield Row(*values)
            self._count += 1
            bar.update()


@contextmanager
def _opened(file: str) -> Iterator[IO[bytes]]:
    """Yield standard output, or a temporary file that replaces `file` once it is complete."""
    if file == STANDARD_STREAM:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(file).resolve()
    # As root, the rename at the end would replace a device, for example /dev/stdout.
    if path.exists() and not path.is_file():
        raise CommandError(f"{file} is not a regular file. Use - for standard output.")
    if not path.parent.is_dir():
        raise CommandError(f"{file}: the folder does not exist.")
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with unfinished.open("xb") as target:
            yield target
            target.flush()
            os.fsync(target.fileno())
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
