"""Whether the database has every migration of this program."""

from django.db import connection
from django.db.migrations.executor import MigrationExecutor


def missing_migrations() -> int:
    """How many migrations of this program the database lacks; it may have some of a later one.

    Raises DatabaseError if the database does not answer.
    """
    executor = MigrationExecutor(connection)
    return len(executor.migration_plan(executor.loader.graph.leaf_nodes()))


def lacking(number: int) -> str:
    """The sentence for whoever meets a database that lacks `number` migrations."""
    return f"The database lacks {number} migration(s): run `python manage.py migrate`."
