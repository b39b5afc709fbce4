from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("apikeys", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="apikey",
            name="submission",
            field=models.UUIDField(null=True, unique=True),
        ),
    ]
