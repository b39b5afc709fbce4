from importlib import import_module

from django.db import migrations

search = import_module("pets.migrations.0010_full_text_search")


def number_pets(apps, schema_editor):
    """Number the pets on SQLite, if an unreleased version has made the search with a table of their numbers."""
    if "pets_searchedpet" in schema_editor.connection.introspection.table_names():
        for statement in [*search.SQLITE_DROP, "DROP TABLE pets_searchedpet"]:
            schema_editor.execute(statement, params=None)
        schema_editor.number_rows(apps.get_model("pets", "Pet"))
        for statement in search.SQLITE_CREATE:
            schema_editor.execute(statement, params=None)


class Migration(migrations.Migration):
    """The numbers by which the search knows a pet on SQLite, for databases of unreleased versions."""

    dependencies = [("pets", "0014_version")]

    operations = [migrations.RunPython(number_pets, migrations.RunPython.noop)]
