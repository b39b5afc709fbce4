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


def change_index(create, drop):
    """Return a function that makes one index and then drops another, without keeping writers of the log waiting."""

    def run(apps, schema_editor):
        # PostgreSQL would lock the table otherwise; SQLite has one writer anyway, and a small log.
        index = "INDEX CONCURRENTLY" if schema_editor.connection.vendor == "postgresql" else "INDEX"
        # An index that an interrupted run has left may be invalid, so it goes first.
        schema_editor.execute(f"DROP {index} IF EXISTS {create.partition(' ')[0]}", params=None)
        schema_editor.execute(f"CREATE {index} {create}", params=None)
        schema_editor.execute(f"DROP {index} IF EXISTS {drop.partition(' ')[0]}", params=None)

    return run


NEW = "petservice_history_of_record_of_kind ON django_admin_log (content_type_id, object_id)"
OLD = "petservice_history_of_record ON django_admin_log (object_id)"


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

    atomic = False  # which CONCURRENTLY asks for
    dependencies = [("petservice", "0001_history_indexes"), ("pets", "0002_back_office")]

    operations = [
        migrations.RunPython(change_index(NEW, OLD), change_index(OLD, NEW)),
        migrations.RunPython(forget_statistics, migrations.RunPython.noop),
    ]
