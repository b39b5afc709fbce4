from django.db import migrations

# Those that the first version of these migrations wrote into SQLite's statistics.
INDEXES = [
    "sqlite_autoindex_pets_pet_1",
    "pets_pet_created",
    "pets_pet_status",
    "pets_pet_tag",
    "pets_pet_name",
    "petservice_history_of_record",
    "petservice_history_of_kind",
    "django_admin_log_content_type_id_c4bce8eb",
    "django_admin_log_user_id_c564eba6",
]


def forget_statistics(apps, schema_editor):
    connection = schema_editor.connection
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            # Not among the tables that Django tells of, because SQLite made it.
            cursor.execute("SELECT count(*) FROM sqlite_master WHERE name = 'sqlite_stat1'")
            if cursor.fetchone()[0]:
                cursor.executemany("DELETE FROM sqlite_stat1 WHERE idx = %s", [(index,) for index in INDEXES])


class Migration(migrations.Migration):
    """The history of a record is found by its kind and its id, as the admin asks for it.

    With both columns in the index SQLite's planner needs no statistics, so those that earlier versions stored go.
    """

    dependencies = [("petservice", "0001_history_indexes"), ("pets", "0002_back_office")]

    operations = [
        migrations.RunSQL(
            "CREATE INDEX petservice_history_of_record_of_kind ON django_admin_log (content_type_id, object_id)",
            "DROP INDEX petservice_history_of_record_of_kind",
        ),
        migrations.RunSQL(
            "DROP INDEX petservice_history_of_record",
            "CREATE INDEX petservice_history_of_record ON django_admin_log (object_id)",
        ),
        migrations.RunPython(forget_statistics, migrations.RunPython.noop),
    ]
