"""The check for pending migrations. While there are any, requests that need the database are refused, and commands."""

import logging
from contextlib import suppress
from time import monotonic

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

logger = logging.getLogger(__name__)

# The message for clients and staff. Operators get pending_migrations_message in the log and from /ready.
BEING_UPDATED = "The service is being updated. Try again in a few minutes."
# Seconds between two checks of a database that lacks migrations.
_INTERVAL = 1.0


def missing_migrations() -> int:
    """Return the number of pending migrations. Migrations of a later version of the program do not count.

    Raises DatabaseError if the database does not respond.
    """
    executor = MigrationExecutor(connection)
    return len(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def pending_migrations_message(number: int) -> str:
    """Return the sentence that says what to do about a database that lacks `number` migrations."""
    return f"The database lacks {number} migration(s): run the command `migrate`."


class PendingMigrations:
    """A cached count of pending migrations. Once it is 0, the process does not query the database again."""

    def __init__(self) -> None:
        self.may_exist = True
        self._count = 0
        self._checked_at = -_INTERVAL

    def count(self) -> int:
        """Return the number of pending migrations, at most one second old, and log a new number of them.

        Returns 0 if the database does not respond, because the caller's own query will fail then.
        """
        if self.may_exist and monotonic() - self._checked_at >= _INTERVAL:
            self._checked_at = monotonic()  # before the check, because a failing one can take several seconds
            with suppress(DatabaseError):
                before, self._count = self._count, missing_migrations()
                self.may_exist = self._count > 0
                if self._count not in (0, before):
                    logger.error(pending_migrations_message(self._count))
        return self._count


pending_migrations = PendingMigrations()


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
