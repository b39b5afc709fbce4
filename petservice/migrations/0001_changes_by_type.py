from django.db import migrations


class Migration(migrations.Migration):
    """The last changes of one kind of record, of the admin's log, however long it is and whatever else is in it."""

    dependencies = [("admin", "0003_logentry_add_action_flag_choices")]

    operations = [
        # The table is Django's, so its model cannot name the index.
        migrations.RunSQL(
            "CREATE INDEX petservice_changes_by_type ON django_admin_log (content_type_id, id)",
            "DROP INDEX petservice_changes_by_type",
        ),
    ]
