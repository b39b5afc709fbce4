from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models

from pets.creator import KindOfCreator
from pets.search.case_insensitive import CaseInsensitive

# Each former index and the one that replaces it.
_REPLACED = {
    "pets_pet_created": models.Index(fields=["created_at"], name="pets_pet_by_creation"),
    "pets_pet_status": models.Index(fields=["status", "created_at"], name="pets_pet_by_status"),
    "pets_pet_tag": models.Index(CaseInsensitive("tag"), "created_at", name="pets_pet_by_tag"),
    "pets_pet_name": models.Index(CaseInsensitive("name"), name="pets_pet_by_name"),
    "pets_pet_creator": models.Index(KindOfCreator("created_by"), "created_at", name="pets_pet_by_creator"),
}
_SALES, _FORMER_SALES = "(status, sold_at{}, created_at)", "(status, sold_at{}, id)"


def _replace(former, name, columns):
    """Return a function that replaces one index of sales by another one."""

    def replace(apps, schema_editor):
        # As SQLite orders pets without the time of a sale.
        is_postgresql = schema_editor.connection.vendor == "postgresql"
        concurrently, nulls = ("CONCURRENTLY", " NULLS FIRST") if is_postgresql else ("", "")
        schema_editor.execute(f"DROP INDEX {concurrently} IF EXISTS {name}")  # what an interrupted attempt left
        schema_editor.execute(f"CREATE INDEX {concurrently} {name} ON pets_pet {columns.format(nulls)}")
        schema_editor.execute(f"DROP INDEX {concurrently} IF EXISTS {former}")

    return replace


class Migration(migrations.Migration):
    """Indexes of pets without their ids, which were the longest part: few pets have the same time."""

    atomic = False  # which CONCURRENTLY asks for
    dependencies = [("pets", "0022_filters_in_search")]

    operations = [
        *(
            operation
            for former, index in _REPLACED.items()
            for operation in (AddIndexConcurrently("pet", index), RemoveIndexConcurrently("pet", former))
        ),
        migrations.SeparateDatabaseAndState(
            database_operations=[
                migrations.RunPython(
                    _replace("pets_pet_sale", "pets_pet_by_sale", _SALES),
                    _replace("pets_pet_by_sale", "pets_pet_sale", _FORMER_SALES),
                )
            ],
            state_operations=[
                migrations.RemoveIndex("pet", "pets_pet_sale"),
                migrations.AddIndex(
                    "pet", models.Index(fields=["status", "sold_at", "created_at"], name="pets_pet_by_sale")
                ),
            ],
        ),
    ]
