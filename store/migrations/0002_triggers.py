from django.db import migrations

from store.migrations import _triggers as triggers


def create(apps, schema_editor):
    triggers.execute(schema_editor, sqlite=triggers.SQLITE_CREATE, postgresql=triggers.POSTGRESQL_CREATE)


def drop(apps, schema_editor):
    triggers.execute(schema_editor, sqlite=triggers.SQLITE_DROP, postgresql=triggers.POSTGRESQL_DROP)


class Migration(migrations.Migration):
    # There are no pets before this migration: the counters begin at nothing.
    dependencies = [("store", "0001_initial"), ("pets", "0001_initial")]

    operations = [migrations.RunPython(create, drop)]
