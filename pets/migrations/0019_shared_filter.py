from django.db import migrations, models


class Migration(migrations.Migration):
    """Saved filters that everybody sees."""

    dependencies = [("pets", "0018_column_mapping")]

    operations = [
        # With a default of the database, because an earlier version saves filters during an upgrade.
        migrations.AddField("savedfilter", "is_shared", models.BooleanField(default=False, db_default=False)),
    ]
