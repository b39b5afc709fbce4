import os
import sqlite3
import tempfile
from argparse import ArgumentParser
from contextlib import closing
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connection

from petservice.db.backend import backend


class Command(BaseCommand):
    help = "Copy the embedded database, as it is at one moment, into a new file, while the service goes on."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", type=Path, help="Where to; must not exist.")

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        if not backend().is_embedded:
            raise CommandError('PostgreSQL has its own tool: pg_dump --format=custom --file=FILE "$DATABASE_URL"')
        source = Path(connection.settings_dict["NAME"])
        if not source.is_file():
            raise CommandError(f"There is no database yet: {source}")
        part = None
        try:
            # Under its own name only when it is whole; and for nobody else to read, for digests of keys are in it.
            descriptor, name = tempfile.mkstemp(prefix=f"{file.name}.", dir=file.parent)
            part = Path(name)
            os.close(descriptor)
            with closing(sqlite3.connect(source)) as database, closing(sqlite3.connect(part)) as copy:
                database.backup(copy)  # all pages in one reading transaction: writers go on, and are not in it
                (verdict,) = copy.execute("PRAGMA integrity_check").fetchone()
            if verdict != "ok":
                raise CommandError(f"The copy is damaged, and so the database may be: {verdict}")
            with part.open("rb") as copied:
                os.fsync(copied.fileno())
            os.link(part, file)  # unlike a renaming, this replaces nothing
        except FileExistsError as error:
            raise CommandError(f"{file} exists: name a file that does not.") from error
        except (OSError, sqlite3.Error) as error:
            raise CommandError(f"{file} cannot be written: {error}") from error
        finally:
            if part:
                part.unlink()
        self.stderr.write(f"{file}: {file.stat().st_size:,} bytes.")
