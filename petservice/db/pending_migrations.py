"""Whether the database has every migration of this program. Until it has, what needs it is refused, not half served."""

from contextlib import suppress
from time import monotonic

from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

# Seconds between two checks of a database that lacks migrations.
_INTERVAL = 1.0


def missing_migrations() -> int:
    """How many migrations of this program the database lacks; it may have some of a later one.

    Raises DatabaseError if the database does not answer.
    """
    executor = MigrationExecutor(connection)
    return len(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def pending_migrations_message(number: int) -> str:
    """Return the sentence that says what to do about a database that lacks `number` migrations."""
    return f"The database lacks {number} migration(s): run `python manage.py migrate`."


class PendingMigrations:
    """What this process knows of pending migrations; once there are none, the database is not asked again."""

    def __init__(self) -> None:
        self.may_exist = True
        self._count = 0
        self._checked_at = -_INTERVAL

    def count(self) -> int:
        """Return how many migrations the database lacks.

        Returns 0 also if the database does not answer: the caller will meet that as well.
        """
        if self.may_exist and monotonic() - self._checked_at >= _INTERVAL:
            self._checked_at = monotonic()  # before the check: one that fails may take as long as a connection does
            with suppress(DatabaseError):
                self._count = missing_migrations()
                self.may_exist = self._count > 0
        return self._count


pending_migrations = PendingMigrations()
