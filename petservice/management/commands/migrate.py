from contextlib import nullcontext
from typing import Any

from django.core.management.commands import migrate

from petservice.db.backend import backend


class Command(migrate.Command):
    """Django's command, which one process at a time runs on a database, and the others wait."""

    def handle(self, *args: Any, **options: Any) -> None:
        only_reads = options["check_unapplied"] or options["plan"]
        with nullcontext() if only_reads else backend(options["database"]).migration_lock():
            super().handle(*args, **options)
