"""Whether the database has every migration of this program. Until it has, what needs it is refused, not half served."""

from contextlib import suppress
from time import monotonic

from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

# Seconds between two looks at a database that lacks migrations.
_PAUSE = 1.0


def missing_migrations() -> int:
    """How many migrations of this program the database lacks; it may have some of a later one.

    Raises DatabaseError if the database does not answer.
    """
    executor = MigrationExecutor(connection)
    return len(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def lacking(number: int) -> str:
    """The sentence for whoever meets a database that lacks `number` migrations."""
    return f"The database lacks {number} migration(s): run `python manage.py migrate`."


class Schema:
    """What this process knows of the database's schema; once that is whole, it is not looked at again."""

    def __init__(self) -> None:
        self._missing = -1  # not known yet
        self._looked = -_PAUSE

    def missing(self) -> int:
        """How many migrations the database lacks, 0 also if it does not answer: whoever asks will meet that as well."""
        if self._missing and monotonic() - self._looked >= _PAUSE:
            with suppress(DatabaseError):
                self._missing = missing_migrations()
                self._looked = monotonic()
        return max(self._missing, 0)


schema = Schema()
