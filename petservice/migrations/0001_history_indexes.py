from django.db import migrations


class Migration(migrations.Migration):
    """Django's log of the admin, by what it is asked: the changes of one record, and the last ones of its kind.

    Without these, each is looked for in the whole log. The table is Django's, so its model cannot name the indexes.
    """

    dependencies = [("admin", "0003_logentry_add_action_flag_choices")]

    operations = [
        migrations.RunSQL(
            "CREATE INDEX petservice_history_of_record ON django_admin_log (object_id)",
            "DROP INDEX petservice_history_of_record",
        ),
        migrations.RunSQL(
            "CREATE INDEX petservice_history_of_kind ON django_admin_log (content_type_id, id)",
            "DROP INDEX petservice_history_of_kind",
        ),
    ]
