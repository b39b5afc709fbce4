from importlib import import_module

from django.db import migrations

from store.migrations import _triggers as triggers

days = import_module("store.migrations.0003_days")


def drop(apps, schema_editor):
    triggers.execute(schema_editor, sqlite=days.SQLITE_DROP_DAYS, postgresql=days.POSTGRESQL_DROP_DAYS)


def create(apps, schema_editor):
    triggers.execute(
        schema_editor,
        sqlite=["DELETE FROM store_daycounter", *days.SQLITE_CREATE_DAYS, *days.SQLITE_FILL_DAYS],
        postgresql=["DELETE FROM store_daycounter", *days.POSTGRESQL_CREATE_DAYS, *days.POSTGRESQL_FILL_DAYS],
    )


class Migration(migrations.Migration):
    """The dashboard counts the pets of a day by an index now, so that no write pays for it.

    The table stays, without new counts, until a later release: the version before this one reads it.
    """

    dependencies = [("store", "0003_days")]

    operations = [
        migrations.RunPython(drop, create),
        migrations.SeparateDatabaseAndState(state_operations=[migrations.DeleteModel("DayCounter")]),
    ]
