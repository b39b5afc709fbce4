from django.db import migrations, models

# As SQLite orders pets without the time of a sale.
_POSTGRESQL_INDEX = "CREATE INDEX CONCURRENTLY pets_pet_sale ON pets_pet (status, sold_at NULLS FIRST, id)"
_POSTGRESQL_FORMER_INDEX = "CREATE INDEX CONCURRENTLY pets_pet_sold ON pets_pet (sold_at NULLS FIRST, id)"
_SQLITE_INDEX = "CREATE INDEX pets_pet_sale ON pets_pet (status, sold_at, id)"
_SQLITE_FORMER_INDEX = "CREATE INDEX pets_pet_sold ON pets_pet (sold_at, id)"


def replace_index(schema_editor, former, name, *, sqlite, postgresql):
    is_postgresql = schema_editor.connection.vendor == "postgresql"
    concurrently = "CONCURRENTLY" if is_postgresql else ""
    schema_editor.execute(f"DROP INDEX {concurrently} IF EXISTS {name}")  # what an interrupted attempt left
    schema_editor.execute(postgresql if is_postgresql else sqlite)
    schema_editor.execute(f"DROP INDEX {concurrently} IF EXISTS {former}")


def add_status(apps, schema_editor):
    replace_index(schema_editor, "pets_pet_sold", "pets_pet_sale", sqlite=_SQLITE_INDEX, postgresql=_POSTGRESQL_INDEX)


def remove_status(apps, schema_editor):
    replace_index(
        schema_editor,
        "pets_pet_sale",
        "pets_pet_sold",
        sqlite=_SQLITE_FORMER_INDEX,
        postgresql=_POSTGRESQL_FORMER_INDEX,
    )


class Migration(migrations.Migration):
    """The index of sales begins with the status, so that the first sales are not behind all pets that are not sold."""

    atomic = False
    dependencies = [("pets", "0019_shared_filter")]

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(add_status, remove_status)],
            state_operations=[
                migrations.RemoveIndex("pet", "pets_pet_sold"),
                migrations.AddIndex("pet", models.Index(fields=["status", "sold_at", "id"], name="pets_pet_sale")),
            ],
        ),
    ]
