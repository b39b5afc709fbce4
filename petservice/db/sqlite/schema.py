"""A schema editor for SQLite that loses no trigger and no number of a row, and accepts the option `concurrently`."""

from typing import Any

from django.db.backends.sqlite3 import schema


class DatabaseSchemaEditor(schema.DatabaseSchemaEditor):
    """A schema editor that keeps the triggers and the numbered rows of a table that it copies."""

    _is_numbered = False  # whether the rows of the table that is being copied have numbers

    def number_rows(self, model: Any) -> None:
        """Give each row a number for triggers and indexes, which stays. SQLite may change the number that it has."""
        self._is_numbered = True
        self._remake_table(model)

    def _remake_table(self, model: Any, *args: Any, **kwargs: Any) -> None:
        """Copy a table in order to change it, and create its triggers again, because the copy has none."""
        with self.connection.cursor() as cursor:
            triggers = "SELECT sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = %s ORDER BY name"
            cursor.execute(triggers, [model._meta.db_table])
            statements = cursor.fetchall()
            number = "SELECT 1 FROM pragma_table_info(%s) WHERE name = 'number' AND pk"
            self._is_numbered |= bool(cursor.execute(number, [model._meta.db_table]).fetchone())
        super()._remake_table(model, *args, **kwargs)  # type: ignore[misc]  # the stubs leave it out
        self._is_numbered = False
        for (statement,) in statements:
            self.execute(statement, params=None)

    def execute(self, sql: Any, params: Any = ()) -> None:
        """Execute a statement. If it creates or fills the copy of a numbered table, the rows keep their numbers."""
        if self._is_numbered and str(sql).startswith('CREATE TABLE "new__'):
            sql = sql.replace(" PRIMARY KEY", " UNIQUE", 1).replace("(", '("number" integer PRIMARY KEY, ', 1)
        elif self._is_numbered and str(sql).startswith('INSERT INTO "new__'):
            sql = sql.replace("(", '("number", ', 1).replace("SELECT ", "SELECT rowid, ", 1)
        super().execute(sql, params)

    def add_index(self, model: Any, index: Any, concurrently: bool = False) -> None:
        """Add an index; accept the option of Django's AddIndexConcurrently, which has no effect on SQLite."""
        if concurrently:  # an interrupted run outside a transaction may have left the index
            self.execute(f"DROP INDEX IF EXISTS {self.quote_name(index.name)}")
        super().add_index(model, index)

    def remove_index(self, model: Any, index: Any, concurrently: bool = False) -> None:
        super().remove_index(model, index)
