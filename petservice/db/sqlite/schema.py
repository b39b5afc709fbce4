"""A schema editor for SQLite that loses no trigger and accepts the option `concurrently` of indexes."""

from typing import Any

from django.db.backends.sqlite3 import schema


class DatabaseSchemaEditor(schema.DatabaseSchemaEditor):
    """A schema editor that keeps the triggers of a table that it copies."""

    def _remake_table(self, model: Any, *args: Any, **kwargs: Any) -> None:
        """Copy a table in order to change it, and create its triggers again, because the copy has none."""
        with self.connection.cursor() as cursor:
            triggers = "SELECT sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = %s ORDER BY name"
            cursor.execute(triggers, [model._meta.db_table])
            statements = cursor.fetchall()
        super()._remake_table(model, *args, **kwargs)  # type: ignore[misc]  # the stubs leave it out
        for (statement,) in statements:
            self.execute(statement, params=None)

    def add_index(self, model: Any, index: Any, concurrently: bool = False) -> None:
        """Add an index; accept the option of Django's AddIndexConcurrently, which has no effect on SQLite."""
        if concurrently:  # an interrupted run outside a transaction may have left the index
            self.execute(f"DROP INDEX IF EXISTS {self.quote_name(index.name)}")
        super().add_index(model, index)

    def remove_index(self, model: Any, index: Any, concurrently: bool = False) -> None:
        super().remove_index(model, index)
