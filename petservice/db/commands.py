"""What the management commands have in common."""

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from petservice.db.pending_migrations import missing_migrations, pending_migrations_message


class DatabaseCommand(BaseCommand):
    """A command that needs the service's tables, and ends with a sentence where they are not."""

    requires_migrations_checks = True

    def check_migrations(self) -> None:
        """Raises CommandError if the database lacks migrations, or does not answer."""
        try:
            missing = missing_migrations()
        except DatabaseError as error:
            raise CommandError(f"The database does not answer: {error}") from error
        if missing:
            raise CommandError(pending_migrations_message(missing))
