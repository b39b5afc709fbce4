import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="AuditEntry",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("login", "Login"),
                            ("login_failed", "Failed login"),
                            ("locked_out", "Lock-out"),
                            ("logout", "Logout"),
                            ("added", "Added"),
                            ("changed", "Changed"),
                            ("deleted", "Deleted"),
                            ("undone", "Undone"),
                            ("restored", "Restored"),
                            ("exported", "Exported"),
                            ("imported", "Imported"),
                            ("key_created", "API key created"),
                            ("key_changed", "API key changed"),
                            ("key_rotated", "API key rotated"),
                            ("key_revoked", "API key revoked"),
                            ("account_added", "Account added"),
                            ("account_changed", "Account changed"),
                            ("second_factor", "Second factor"),
                        ],
                        editable=False,
                        max_length=20,
                    ),
                ),
                ("account_name", models.CharField(blank=True, editable=False, max_length=150)),
                ("address", models.GenericIPAddressField(editable=False, null=True)),
                ("record_type", models.CharField(blank=True, editable=False, max_length=100)),
                ("record_id", models.CharField(blank=True, editable=False, max_length=255)),
                ("record_name", models.CharField(blank=True, editable=False, max_length=255)),
                ("count", models.PositiveIntegerField(default=1, editable=False)),
                ("message", models.TextField(blank=True, editable=False)),
                (
                    "account",
                    models.ForeignKey(
                        editable=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name": "audit entry",
                "verbose_name_plural": "audit",
                "ordering": ["-at", "-pk"],
                "indexes": [
                    models.Index(fields=["at", "id"], name="audit_at"),
                    models.Index(fields=["account_name", "at", "id"], name="audit_account"),
                    models.Index(fields=["kind", "at", "id"], name="audit_kind"),
                    models.Index(fields=["record_type", "record_id", "at", "id"], name="audit_record"),
                ],
            },
        ),
    ]
