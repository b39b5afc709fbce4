from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models

from pets import search_triggers
from pets.creator import KindOfCreator


def record_present_pets(apps, schema_editor):
    """Record the pets that are older than the triggers. A pet that is recorded twice is only read twice."""
    vendor = schema_editor.connection.vendor
    schema_editor.execute(search_triggers.RECORD_ALL[vendor], params=None)


class Migration(migrations.Migration):
    """The present pets are recorded for the search index, which `migrate` fills when all migrations are done."""

    atomic = False  # which CONCURRENTLY asks for
    dependencies = [("pets", "0007_search")]

    operations = [
        migrations.RunPython(record_present_pets, migrations.RunPython.noop),
        AddIndexConcurrently(
            "pet", models.Index(KindOfCreator("created_by"), "created_at", "id", name="pets_pet_creator")
        ),
    ]
