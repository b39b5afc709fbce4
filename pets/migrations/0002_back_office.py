from django.db import migrations, models

from pets.any_case import AnyCase
from petservice.db.sqlite.statistics import statistics


class Migration(migrations.Migration):
    dependencies = [("pets", "0001_initial")]

    operations = [
        # Nullable, so that SQLite adds a column: a table made anew would lose the inventory's triggers.
        migrations.AddField("pet", "created_through", models.CharField(editable=False, max_length=255, null=True)),
        migrations.AddIndex("pet", models.Index(fields=["created_at", "id"], name="pets_pet_created")),
        migrations.AddIndex("pet", models.Index(fields=["status", "created_at", "id"], name="pets_pet_status")),
        migrations.AddIndex("pet", models.Index(AnyCase("tag"), "created_at", "id", name="pets_pet_tag")),
        migrations.AddIndex("pet", models.Index(AnyCase("name"), "id", name="pets_pet_name")),
        statistics(
            "pets_pet",
            {
                "sqlite_autoindex_pets_pet_1": "1000000 1",
                "pets_pet_created": "1000000 2 1",
                "pets_pet_status": "1000000 300000 2 1",
                "pets_pet_tag": "1000000 500 2 1",
                "pets_pet_name": "1000000 10 1",
            },
        ),
    ]
