from django.db import migrations, models

import pets.fields
from pets import search_triggers


def run(*, sqlite, postgresql):
    """Return a function that runs the statements for the type of the database that is migrated."""

    def execute(apps, schema_editor):
        for statement in {"sqlite": sqlite, "postgresql": postgresql}[schema_editor.connection.vendor]:
            schema_editor.execute(statement, params=None)

    return execute


class Migration(migrations.Migration):
    """The tables and triggers of the search index. The next migration records the present pets for it.

    Both are separate, so that no pet is left out that someone else creates meanwhile.
    """

    dependencies = [("pets", "0006_imported_file")]

    operations = [
        migrations.RunPython(
            run(sqlite=search_triggers.SQLITE_CREATE, postgresql=search_triggers.POSTGRESQL_CREATE),
            run(sqlite=search_triggers.SQLITE_DROP, postgresql=search_triggers.POSTGRESQL_DROP),
        ),
        migrations.CreateModel(
            name="SearchTerm",
            fields=[
                ("pk", models.CompositePrimaryKey("term", "pet_id", blank=True, editable=False, primary_key=True)),
                ("term", models.BinaryField()),
                ("pet_id", pets.fields.PetIDField()),
            ],
            options={"managed": False, "default_permissions": ()},
        ),
        migrations.CreateModel(
            name="UnindexedPet",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("pet_id", pets.fields.PetIDField()),
                ("old_name", models.CharField(max_length=255, null=True)),
                ("old_tag", models.CharField(max_length=255, null=True)),
            ],
            options={"managed": False, "default_permissions": ()},
        ),
    ]
