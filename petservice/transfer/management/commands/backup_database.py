from argparse import ArgumentParser
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connection

from pets.management.terminal import all_or_nothing, end_like_ctrl_c
from petservice.transfer.sqlite_file import copy_database


class Command(BaseCommand):
    help = "Write a consistent snapshot of the SQLite database to a new file. The service can keep running."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", type=Path, help="New file; must not exist.")

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        if connection.vendor != "sqlite":
            self.check(tags=["petservice"])  # settings that are wrong leave no database
            raise CommandError('PostgreSQL has its own tool: pg_dump --format=custom --file=FILE "$DATABASE_URL"')
        end_like_ctrl_c()
        with all_or_nothing(f"written to {file}"):
            copy_database(Path(connection.settings_dict["NAME"]), file, is_in_use=True)
        with suppress(OSError):  # the backup is complete, also if this account cannot write here
            new = settings.LAST_BACKUP.with_suffix(".new")
            new.touch(mode=0o600)
            new.replace(settings.LAST_BACKUP)  # which another account, such as root, may have made
        self.stderr.write(f"{file}: {file.stat().st_size:,} bytes.")
