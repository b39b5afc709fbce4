import os
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from django.core.management.base import CommandError

from pets.files.rows import EXPORTED, FORMATS
from pets.files.writing import write
from pets.management.terminal import STANDARD_STREAM, all_or_nothing, end_like_ctrl_c, format_of, progress
from pets.models import Pet
from pets.models.pet import count_of_pets
from petservice.db.pending_migrations import DatabaseCommand
from petservice.journal.models import Event
from petservice.journal.recording import add_event_of_command

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
        self._count = 0
        end_like_ctrl_c()
        done = "exported to its end" if file == STANDARD_STREAM else "exported"
        with all_or_nothing(done), progress("Exporting") as bar:
            try:
                # The generator is closed with its cursor, while the database can still be used.
                with _opened(file) as target, closing(write(self._rows(bar), file_format)) as parts:
                    target.writelines(parts)
            except BaseException as error:
                if file == STANDARD_STREAM:  # which has got some pets
                    self._record()
                if not isinstance(error, BrokenPipeError):
                    raise
                # The reader has left. Python would report an error when it closes standard output.
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                return
        self._record()
        self.stderr.write(f"Exported {count_of_pets(self._count)}.", self.style.SUCCESS)

    def _record(self) -> None:
        kind, message = Event.Kind.EXPORTED, "Exported by the command export_pets."
        done = f"{count_of_pets(self._count)} exported."
        add_event_of_command(self, kind, done, target=Pet, message=message, count=self._count)

    def _rows(self, bar: Any) -> Iterator[Any]:
        pets = Pet.objects.order_by("pk").values_list(*EXPORTED, named=True)
        for pet in pets.iterator(chunk_size=_BATCH):
            yield pet
            self._count += 1
            bar.update()


@contextmanager
def _opened(file: str) -> Iterator[IO[bytes]]:
    """Yield standard output, or a temporary file that replaces `file` once it is complete."""
    if file == STANDARD_STREAM:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    # As root, the rename at the end would replace a device. A pipe, for example /dev/stdout, has no path.
    if Path(file).exists() and not Path(file).is_file():
        raise CommandError(f"{file} is not a regular file. Use - for standard output.")
    path = Path(file).resolve()
    if not path.parent.is_dir():
        raise CommandError(f"{file}: the folder does not exist.")
    with TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as folder:
        unfinished = Path(folder) / path.name
        unfinished.touch(mode=0o600)  # only its owner may read the file, as a backup
        with unfinished.open("wb") as target:
            yield target
            target.flush()
            os.fsync(target.fileno())
        unfinished.replace(path)
