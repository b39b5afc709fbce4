import os
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from django.core.management.base import CommandError
from django.db import DatabaseError

from pets.files.rows import COLUMNS, KINDS, Row
from pets.files.writing import write
from pets.management.terminal import STANDARD_STREAM, kind_of, progress, reason, throughput
from pets.models import Pet
from petservice.db.backend import backend
from petservice.db.commands import DatabaseCommand

# Rows that the database sends at a time.
_BATCH = 2000


class Command(DatabaseCommand):
    help = "Write all pets to a file, as they are when it begins, oldest first; import_pets reads it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "file", help=".csv, or JSON lines: .jsonl, .ndjson, .json; replaced if it is there; - for standard output"
        )
        parser.add_argument("--format", choices=KINDS, help="for standard output, and if the name does not tell")

    def handle(self, *args: Any, file: str, **options: Any) -> None:
        kind = kind_of(file, options["format"])
        started = time.monotonic()
        try:
            with (
                progress("Exporting") as bar,
                _opened(file) as target,
                backend().read_consistently(),
            ):
                for part in write(self._rows(bar), kind):
                    target.write(part)
        except BrokenPipeError:
            # Whoever reads has enough. Python would complain when it closes the stream.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return
        except KeyboardInterrupt:
            raise CommandError("Interrupted: nothing was exported.", returncode=130) from None
        except OSError as error:
            raise CommandError(f"{reason(error)}. Nothing was exported.") from None
        except DatabaseError as error:
            raise CommandError(f"The database refuses: {str(error).strip()}. Nothing was exported.") from None
        self.stderr.write(throughput("Exported", self._count, time.monotonic() - started), self.style.SUCCESS)

    def _rows(self, bar: Any) -> Iterator[Row]:
        self._count = 0
        pets = Pet.objects.order_by("pk").values_list(*COLUMNS)
        for values in pets.iterator(chunk_size=_BATCH):
            yield Row(*values)
            self._count += 1
            bar.update()


@contextmanager
def _opened(file: str) -> Iterator[IO[bytes]]:
    """Where to write to: standard output, or a file that takes the place of `file` once it is whole."""
    if file == STANDARD_STREAM:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(file).resolve()
    # Root might rename the file over a device, /dev/stdout for example.
    if path.exists() and not path.is_file():
        raise CommandError(f"{file} is not a file: to write to standard output, give -.")
    if not path.parent.is_dir():
        raise CommandError(f"{file}: there is no such folder.")
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
