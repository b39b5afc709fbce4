import django.db.models.deletion
from django.db import migrations, models

_INDEX = "pets_idempotencyrecord_api_key_id_69ad0ab4"


def drop(apps, schema_editor):
    concurrently = "CONCURRENTLY" if schema_editor.connection.vendor == "postgresql" else ""
    schema_editor.execute(f"DROP INDEX {concurrently} IF EXISTS {_INDEX}")


def create(apps, schema_editor):
    drop(apps, schema_editor)  # what an interrupted attempt left
    concurrently = "CONCURRENTLY" if schema_editor.connection.vendor == "postgresql" else ""
    schema_editor.execute(f"CREATE INDEX {concurrently} {_INDEX} ON pets_idempotencyrecord (api_key_id)")


class Migration(migrations.Migration):
    """The records of a key are found by their unique constraint, so a second index only slows each creation."""

    atomic = False
    dependencies = [("pets", "0020_sales_by_status")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(drop, create)],
            state_operations=[
                migrations.AlterField(
                    "idempotencyrecord",
                    "api_key",
                    models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to="apikeys.apikey"),
                ),
            ],
        ),
    ]
