import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("apikeys", "0006_replaced_by"),
    ]

    operations = [
        migrations.AddField(
            model_name="apikey",
            name="last_used_address",
            field=models.GenericIPAddressField(blank=True, editable=False, null=True),
        ),
        migrations.CreateModel(
            name="KeyDay",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("day", models.DateField()),
                ("requests", models.PositiveBigIntegerField(default=0)),
                ("client_errors", models.PositiveBigIntegerField(default=0)),
                ("server_errors", models.PositiveBigIntegerField(default=0)),
                (
                    "api_key",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="days",
                        to="apikeys.apikey",
                    ),
                ),
            ],
            options={
                "default_permissions": (),
                "indexes": [models.Index(fields=["day"], name="apikeys_keyday_day")],
                "constraints": [models.UniqueConstraint(fields=("api_key", "day"), name="apikeys_keyday_once")],
            },
        ),
    ]
