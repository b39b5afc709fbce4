from django.db import migrations, models

from pets.any_case import AnyCase

# What SQLite's planner is told of the indexes (https://www.sqlite.org/fileformat2.html#stat1tab): the number of rows,
# then how many of them have the same first value, the same first two, and so on. It gathers this only when asked, and
# without it takes a status for as good a lead as a name. Written once instead, its plans are the same everywhere.
STATISTICS = [
    ("pets_pet", "sqlite_autoindex_pets_pet_1", "1000000 1"),
    ("pets_pet", "pets_pet_created", "1000000 2 1"),
    ("pets_pet", "pets_pet_status", "1000000 300000 2 1"),
    ("pets_pet", "pets_pet_tag", "1000000 500 2 1"),
    ("pets_pet", "pets_pet_name", "1000000 10 1"),
    ("django_admin_log", "pets_history_of_one", "1000000 10"),
    ("django_admin_log", "django_admin_log_content_type_id_c4bce8eb", "1000000 300000"),
    ("django_admin_log", "django_admin_log_user_id_c564eba6", "1000000 100000"),
]


def write_statistics(apps, schema_editor):
    if schema_editor.connection.vendor == "sqlite":
        schema_editor.execute("ANALYZE sqlite_schema", params=None)  # makes the table
        with schema_editor.connection.cursor() as cursor:
            cursor.executemany("INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (%s, %s, %s)", STATISTICS)
        schema_editor.execute("ANALYZE sqlite_schema", params=None)  # has this connection heed them, too


def forget_statistics(apps, schema_editor):
    if schema_editor.connection.vendor == "sqlite":
        schema_editor.execute("DELETE FROM sqlite_stat1", params=None)


class Migration(migrations.Migration):
    dependencies = [("pets", "0001_initial"), ("admin", "0003_logentry_add_action_flag_choices")]

    operations = [
        # Nullable, so that SQLite adds a column: a table made anew would lose the inventory's triggers.
        migrations.AddField("pet", "created_through", models.CharField(editable=False, max_length=255, null=True)),
        migrations.AddIndex("pet", models.Index(fields=["created_at", "id"], name="pets_pet_created")),
        migrations.AddIndex("pet", models.Index(fields=["status", "created_at", "id"], name="pets_pet_status")),
        migrations.AddIndex("pet", models.Index(AnyCase("tag"), "created_at", "id", name="pets_pet_tag")),
        migrations.AddIndex("pet", models.Index(AnyCase("name"), "id", name="pets_pet_name")),
        # Django's history of the admin has none for what it is asked most: the entries of one record.
        migrations.RunSQL(
            "CREATE INDEX pets_history_of_one ON django_admin_log (object_id)", "DROP INDEX pets_history_of_one"
        ),
        migrations.RunPython(write_statistics, forget_statistics),
    ]
