from django.db import migrations, models

from pets.fields import SoldAtField


class Migration(migrations.Migration):
    """Defaults of Python for new pets, which Django writes faster than those of the database. No column changes."""

    dependencies = [("pets", "0023_shorter_indexes")]

    operations = [
        # Only of the state, because SQLite would copy the table.
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterField("pet", "version", models.IntegerField(db_default=1, default=1, editable=False)),
                migrations.AlterField("pet", "sold_at", SoldAtField(editable=False, null=True)),
            ]
        )
    ]
