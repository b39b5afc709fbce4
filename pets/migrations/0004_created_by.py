from django.db import migrations, models


class Migration(migrations.Migration):
    """The field has another name; its column stays as it is, since the version before this one reads it."""

    dependencies = [("pets", "0003_upload")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameField("pet", "created_through", "created_by"),
                migrations.AlterField(
                    "pet",
                    "created_by",
                    models.CharField(db_column="created_through", editable=False, max_length=255, null=True),
                ),
            ]
        )
    ]
