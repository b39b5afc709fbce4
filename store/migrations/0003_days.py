from django.db import migrations, models

from store import triggers


def create(apps, schema_editor):
    triggers.execute(
        schema_editor,
        sqlite=triggers.SQLITE_CREATE_DAYS + triggers.SQLITE_FILL_DAYS,
        postgresql=triggers.POSTGRESQL_CREATE_DAYS + triggers.POSTGRESQL_FILL_DAYS,
    )


def drop(apps, schema_editor):
    triggers.execute(schema_editor, sqlite=triggers.SQLITE_DROP_DAYS, postgresql=triggers.POSTGRESQL_DROP_DAYS)


class Migration(migrations.Migration):
    dependencies = [("store", "0002_triggers"), ("pets", "0002_back_office")]

    operations = [
        migrations.CreateModel(
            name="DayCounter",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("day", models.DateField(db_index=True)),
                ("count", models.BigIntegerField()),
            ],
        ),
        migrations.RunPython(create, drop),
    ]
