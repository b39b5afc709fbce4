from django.db import migrations, models


class Migration(migrations.Migration):
    """What people said of the columns of an uploaded file."""

    dependencies = [("pets", "0017_past_sales")]

    operations = [
        migrations.AddField("upload", "mapping", models.JSONField(null=True)),
        migrations.AddField("importedfile", "mapping", models.JSONField(null=True)),
    ]
