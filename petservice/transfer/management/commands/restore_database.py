from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connection

from pets.management.terminal import all_or_nothing, end_like_ctrl_c
from petservice.db.sqlite.base import exclude_services
from petservice.journal.models import Event
from petservice.journal.recording import add_event_of_command
from petservice.transfer.sqlite_file import LOGS, copy_database


class Command(BaseCommand):
    help = "Restore a backup of the SQLite database. No service may run, and there must be no database."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", type=Path, help="A file that backup_database has written.")

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        if connection.vendor != "sqlite":
            self.check(tags=["petservice"])  # settings that are wrong leave no database
            raise CommandError(
                "PostgreSQL has its own tool: "
                'pg_restore --exit-on-error --no-owner --dbname="$DATABASE_URL" FILE, into an empty database'
            )
        if logs := [log for log in LOGS if Path(f"{file}{log}").exists() and Path(f"{file}{log}").stat().st_size]:
            raise CommandError(f"{file} is a database in use, not a backup, because it has a {logs[0]}: use a backup.")
        target = Path(connection.settings_dict["NAME"]).resolve()
        end_like_ctrl_c()
        with all_or_nothing(f"restored from {file}"):
            try:
                with exclude_services(target):
                    copy_database(file, target, is_in_use=False)
                    message = "Backup restored by the command restore_database."
                    add_event_of_command(self, Event.Kind.RESTORED, "The database is restored.", message=message)
                    connection.close()
            except BlockingIOError:
                raise CommandError(f"The service runs on {target}, or a restore does: stop it first.") from None
        self.stderr.write(f"{target} is restored from {file}. Start the service now.")
