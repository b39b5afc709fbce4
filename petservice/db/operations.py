"""Operations for migrations."""

from typing import Any

from django.db.migrations.operations import SeparateDatabaseAndState


class KeepTriggers(SeparateDatabaseAndState):
    """A migration operation that runs others and keeps the triggers of their tables.

    On SQLite, Django copies a table in order to add a constraint or to change a column, and the copy has no triggers.
    Without this operation such a migration fails and changes nothing. Wrap the operations of makemigrations like this:

        KeepTriggers(
            migrations.AddConstraint("pet", models.CheckConstraint(...)),
            migrations.AlterField("pet", "status", ...),
        )

    The triggers are created again, unchanged. If a migration removes a column that a trigger names, drop the trigger
    in an operation before this one. Create its new version in an operation after this one. PostgreSQL alters a table
    in place, so its triggers stay.
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
