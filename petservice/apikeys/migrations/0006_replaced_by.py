import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("apikeys", "0005_texts"),
    ]

    operations = [
        migrations.AddField(
            model_name="apikey",
            name="replaced_by",
            field=models.OneToOneField(
                blank=True,
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="replaces",
                to="apikeys.apikey",
            ),
        ),
    ]
