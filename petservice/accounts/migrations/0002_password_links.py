from django.db import migrations


def renew_table(apps, schema_editor):
    """Make the table of links anew, if an unreleased version has made it with the tokens that Django makes now."""
    link, connection = apps.get_model("accounts", "PasswordLink"), schema_editor.connection
    with connection.cursor() as cursor:
        columns = {
            column.name for column in connection.introspection.get_table_description(cursor, link._meta.db_table)
        }
    if "digest" in columns:
        schema_editor.delete_model(link)
        schema_editor.create_model(link)


class Migration(migrations.Migration):
    """Links that unreleased versions have made do not work any more."""

    dependencies = [("accounts", "0001_initial")]

    operations = [migrations.RunPython(renew_table, migrations.RunPython.noop)]
