from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("apikeys", "0003_access_labels"),
    ]

    operations = [
        migrations.AddField(
            model_name="apikey",
            name="requests_per_minute",
            field=models.PositiveIntegerField(
                blank=True,
                help_text="The most requests that are answered in any minute. Leave empty for a key without a limit.",
                null=True,
                validators=[MinValueValidator(1), MaxValueValidator(100000)],
            ),
        ),
        migrations.AddConstraint(
            model_name="apikey",
            constraint=models.CheckConstraint(
                condition=models.Q(("requests_per_minute__gt", 0)), name="apikeys_apikey_requests_per_minute_positive"
            ),
        ),
    ]
