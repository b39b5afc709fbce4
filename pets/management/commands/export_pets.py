from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

from pets.files.rows import FORMATS
from pets.files.writing import EXPORTED, write
from pets.management.terminal import count_of_pets, format_of, progress
from pets.models import Pet
from petservice.db.pending_migrations import DatabaseCommand
from petservice.exports.files import export
from petservice.journal.models import Event
from petservice.journal.recording import record_done

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
        with progress("Exporting") as bar:
            if not export(write(self._rows(bar), file_format), file):
                return
        message = "Exported by the command export_pets."
        kind = Event.Kind.EXPORTED
        record_done(self, kind, "The export is complete.", target=Pet, message=message, count=self._count)
        self.stderr.write(f"Exported {count_of_pets(self._count)}.", self.style.SUCCESS)

    def _rows(self, bar: Any) -> Iterator[Any]:
        self._count = 0
        pets = Pet.objects.order_by("pk").values_list(*EXPORTED, named=True)
        for pet in pets.iterator(chunk_size=_BATCH):
            yield pet
            self._count += 1
            bar.update()
