"""A schema editor for SQLite that loses no trigger and accepts the option `concurrently` of indexes."""

from typing import Any

from django.db import NotSupportedError
from django.db.backends.sqlite3 import schema


class DatabaseSchemaEditor(schema.DatabaseSchemaEditor):
    """A schema editor that refuses to copy a table with triggers, or creates its triggers again."""

    # Whether to create the triggers of a copied table again. KeepTriggers (petservice.db.operations) sets it.
    keeps_triggers = False

    def _remake_table(self, model: Any, *args: Any, **kwargs: Any) -> None:
        table = model._meta.db_table
        with self.connection.cursor() as cursor:
            triggers = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = %s ORDER BY name"
            cursor.execute(triggers, [table])
            statements = dict(cursor.fetchall())
        if statements and not self.keeps_triggers:
            raise NotSupportedError(
                f"SQLite copies the table {table} for this change and would lose its triggers "
                f"{', '.join(statements)}: in the migration, put the operation into KeepTriggers(…) of "
                "petservice.db.operations, which creates them again."
            )
        super()._remake_table(model, *args, **kwargs)  # type: ignore[misc]  # the stubs leave it out
        for statement in statements.values():
            self.execute(statement, params=None)

    def add_index(self, model: Any, index: Any, concurrently: bool = False) -> None:
        """Add an index; accept the option of Django's AddIndexConcurrently, which has no effect on SQLite."""
        if concurrently:  # an interrupted run outside a transaction may have left the index
            self.execute(f"DROP INDEX IF EXISTS {self.quote_name(index.name)}")
        super().add_index(model, index)

    def remove_index(self, model: Any, index: Any, concurrently: bool = False) -> None:
        super().remove_index(model, index)
