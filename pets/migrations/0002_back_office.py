from django.db import migrations, models

from pets.search.case_insensitive import CaseInsensitive


class Migration(migrations.Migration):
    dependencies = [("pets", "0001_initial")]

    operations = [
        # Nullable, so that SQLite adds a column: a table made anew would lose the inventory's triggers.
        migrations.AddField("pet", "created_through", models.CharField(editable=False, max_length=255, null=True)),
        migrations.AddIndex("pet", models.Index(fields=["created_at", "id"], name="pets_pet_created")),
        migrations.AddIndex("pet", models.Index(fields=["status", "created_at", "id"], name="pets_pet_status")),
        migrations.AddIndex("pet", models.Index(CaseInsensitive("tag"), "created_at", "id", name="pets_pet_tag")),
        migrations.AddIndex("pet", models.Index(CaseInsensitive("name"), "id", name="pets_pet_name")),
    ]
