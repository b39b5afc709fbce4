from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models

import pets.fields


class Migration(migrations.Migration):
    """The trash can hold several deleted pets with one id. The previous version reads the key of a row as the id."""

    atomic = False  # which CONCURRENTLY asks for
    dependencies = [("pets", "0011_search_of_present_pets")]

    operations = [
        migrations.AddField("trashedpet", "pet_id", pets.fields.PetIDField(editable=False, null=True)),
        AddIndexConcurrently("trashedpet", models.Index(fields=["pet_id"], name="pets_trashedpet_pet")),
    ]
