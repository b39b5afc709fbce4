"""The check for pending migrations. While there are any, requests that need the database are refused, and commands."""

from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

# The message for clients and staff. Operators get pending_migrations_message in the log and from /ready.
BEING_UPDATED = "The service is being updated. Try again in a few minutes."


def pending_migrations() -> int:
    """Return the number of pending migrations. Migrations of a later version of the program do not count.

    Raises DatabaseError if the database does not respond.
    """
    executor = MigrationExecutor(connection)
    return len(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def pending_migrations_message(number: int) -> str:
    """Return the sentence that says what to do about a database that lacks `number` migrations."""
    return f"The database lacks {number} migration(s): run the command `migrate`."


class DatabaseCommand(BaseCommand):
    """A command that needs the service's tables, and ends with a clear error if migrations are pending."""

    requires_migrations_checks = True

    def check_migrations(self) -> None:
        """Raise CommandError if migrations are pending."""
        if number := pending_migrations():
            raise CommandError(pending_migrations_message(number))
