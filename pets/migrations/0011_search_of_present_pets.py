from django.db import migrations

# Number of pets that one transaction locks.
_BATCH = 2000
_FILL = """
    WITH batch AS (SELECT id FROM pets_pet WHERE id > %s ORDER BY id LIMIT %s FOR UPDATE)
    UPDATE pets_pet SET search = array_to_tsvector(pets_search_words(concat_ws(' ', name, tag)))
    FROM batch WHERE pets_pet.id = batch.id RETURNING pets_pet.id
"""
# Without a list of changes to merge later, each writer does its own part, and a search reads only the index.
_INDEX = (
    "CREATE INDEX CONCURRENTLY IF NOT EXISTS pets_pet_search ON pets_pet USING gin (search) WITH (fastupdate = off)"
)


def fill(apps, schema_editor):
    if schema_editor.connection.vendor != "postgresql":
        return
    last = "00000000-0000-0000-0000-000000000000"
    with schema_editor.connection.cursor() as cursor:
        while True:
            cursor.execute(_FILL, [last, _BATCH])
            if not (ids := [row[0] for row in cursor.fetchall()]):
                break
            last = max(ids)
        cursor.execute("DROP INDEX CONCURRENTLY IF EXISTS pets_pet_search")  # what an interrupted attempt left
        cursor.execute(_INDEX)


def drop(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP INDEX CONCURRENTLY IF EXISTS pets_pet_search")


class Migration(migrations.Migration):
    """The present pets in the full-text search, in transactions that let other writers in between."""

    atomic = False
    dependencies = [("pets", "0010_full_text_search")]

    operations = [migrations.RunPython(fill, drop)]
