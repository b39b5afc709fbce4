from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import migrations, models


class Migration(migrations.Migration):
    """Change help texts, and the name of a field whose column keeps its name. The database is not changed."""

    dependencies = [
        ("apikeys", "0004_requests_per_minute"),
    ]

    operations = [
        migrations.AlterField(
            model_name="apikey",
            name="environment",
            field=models.CharField(
                choices=[("test", "Test"), ("live", "Live")],
                help_text="Test keys work only on a test service, live keys only on a live service.",
                max_length=4,
            ),
        ),
        migrations.AlterField(
            model_name="apikey",
            name="requests_per_minute",
            field=models.PositiveIntegerField(
                blank=True,
                help_text="Maximum number of requests per minute. Leave empty for no limit.",
                null=True,
                validators=[MinValueValidator(1), MaxValueValidator(100000)],
            ),
        ),
        migrations.AlterField(
            model_name="apikey",
            name="submission",
            field=models.UUIDField(db_column="submission", null=True, unique=True),
        ),
        migrations.RenameField(model_name="apikey", old_name="submission", new_name="form_token"),
    ]
