"""The base class of the management commands that use the database."""

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from petservice.db.pending_migrations import missing_migrations, pending_migrations_message


class DatabaseCommand(BaseCommand):
    """A command that needs the service's tables, and ends with a clear error if they are missing."""

    requires_migrations_checks = True

    def check_migrations(self) -> None:
        """Raise CommandError if migrations are pending, or if the database does not respond."""
        try:
            missing = missing_migrations()
        except DatabaseError as error:
            raise CommandError(f"The database does not answer: {error}") from error
        if missing:
            raise CommandError(pending_migrations_message(missing))
