"""Operations of migrations."""

from typing import Any

from django.db.migrations.operations import SeparateDatabaseAndState


class KeepTriggers(SeparateDatabaseAndState):
    """Run operations, forwards or backwards, after which their tables have the triggers that they had before.

    On SQLite, Django copies a table in order to add a constraint or to change a column, and triggers do not come along.
    Without this operation such a migration fails and changes nothing. Write what makemigrations has written like this:

        KeepTriggers(
            migrations.AddConstraint("pet", models.CheckConstraint(...)),
            migrations.AlterField("pet", "status", ...),
        )

    The triggers are created again as they were. A trigger that names a column which goes needs another text: drop it in
    an operation before this one, and create the new one after it. On PostgreSQL tables are altered where they are, and
    keep their triggers anyway.
    """

    def __init__(self, *operations: Any) -> None:
        super().__init__(database_operations=operations, state_operations=operations)

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        schema_editor.keeps_triggers = True
        super().database_forwards(app_label, schema_editor, from_state, to_state)
        schema_editor.keeps_triggers = False

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        schema_editor.keeps_triggers = True
        super().database_backwards(app_label, schema_editor, from_state, to_state)
        schema_editor.keeps_triggers = False
