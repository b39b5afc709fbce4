from django.db import migrations


class Migration(migrations.Migration):
    """Nothing: 0028_all_signs_in_search takes its place. Databases of unreleased versions have it."""

    dependencies = [("pets", "0025_shorter_search")]
