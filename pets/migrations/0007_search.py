from django.db import migrations


class Migration(migrations.Migration):
    """Nothing: this was a table of words for the search, which 0010_full_text_search replaces."""

    dependencies = [("pets", "0006_imported_file")]

    operations = []
