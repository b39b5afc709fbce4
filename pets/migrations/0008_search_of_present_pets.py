from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models

from pets.creator import KindOfCreator


class Migration(migrations.Migration):
    atomic = False  # which CONCURRENTLY asks for
    dependencies = [("pets", "0007_search")]

    operations = [
        AddIndexConcurrently(
            "pet", models.Index(KindOfCreator("created_by"), "created_at", "id", name="pets_pet_creator")
        ),
    ]
