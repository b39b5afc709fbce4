"""What migrations do to a table that has pets and triggers."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import IntegrityError, NotSupportedError, connection, migrations, models
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder

from pets.models import Pet
from petservice.db.operations import KeepTriggers
from store.services import inventory_counts

pytestmark = pytest.mark.django_db(transaction=True)

COLUMN = migrations.AddField("pet", "planted", models.CharField(max_length=255, null=True))
CONSTRAINT = migrations.AddConstraint(
    "pet", models.CheckConstraint(condition=~models.Q(name="Tom"), name="planted_constraint")
)

on_sqlite = pytest.mark.skipif("connection.vendor != 'sqlite'", reason="PostgreSQL alters a table where it is")


@contextmanager
def migrated(*operations: Any, atomic: bool = True) -> Iterator[None]:
    """Run a migration of pets with these operations, and at the end backwards."""
    migration = migrations.Migration("planted", "pets")
    migration.operations, migration.atomic = list(operations), atomic
    before = MigrationExecutor(connection).loader.project_state()
    MigrationExecutor(connection).apply_migration(before.clone(), migration)
    try:
        yield
    finally:
        MigrationExecutor(connection).unapply_migration(before, migration)


def triggers() -> list[tuple[str, str]]:
    """The triggers on the pets' table, and their statements."""
    with connection.cursor() as cursor:
        cursor.execute(
            {
                "sqlite": "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY name",
                "postgresql": "SELECT tgname, pg_get_triggerdef(oid) FROM pg_trigger"
                " WHERE tgrelid = 'pets_pet'::regclass AND NOT tgisinternal ORDER BY tgname",
            }[connection.vendor]
        )
        return cursor.fetchall()


@on_sqlite
@pytest.mark.parametrize(
    "operation",
    [
        CONSTRAINT,
        migrations.AlterField("pet", "name", models.CharField(max_length=300)),
        migrations.RemoveConstraint("pet", "pets_pet_name_not_empty"),
    ],
)
def test_a_migration_that_would_lose_triggers_says_what_to_do_and_changes_nothing(operation: Any) -> None:
    Pet.objects.create(name="Rex")
    before = triggers()
    says = (
        "the table pets_pet for this change and would lose its triggers "
        r"store_count_delete, store_count_insert, store_count_update: .* put the operation into KeepTriggers\(…\)"
    )

    with pytest.raises(NotSupportedError, match=says), migrated(COLUMN, operation):
        pass

    assert triggers() == before != []
    with connection.cursor() as cursor:
        columns = [column.name for column in connection.introspection.get_table_description(cursor, "pets_pet")]
    assert "planted" not in columns
    assert not MigrationRecorder.Migration.objects.filter(name="planted").exists()
    Pet.objects.create(name="Tom")
    assert inventory_counts()["available"] == 2


def test_a_change_of_the_table_can_keep_its_triggers_forwards_and_backwards() -> None:
    Pet.objects.create(name="Rex")
    before = triggers()

    with migrated(KeepTriggers(COLUMN, CONSTRAINT)):
        assert triggers() == before
        Pet.objects.create(name="Kit", status="sold")
        with pytest.raises(IntegrityError):
            Pet.objects.create(name="Tom")
        assert inventory_counts() == {"available": 1, "pending": 0, "sold": 1}

    assert triggers() == before
    Pet.objects.create(name="Tom")
    assert inventory_counts() == {"available": 2, "pending": 0, "sold": 1}


@on_sqlite
def test_triggers_are_kept_by_no_other_operation_of_the_migration() -> None:
    was_migrated = False

    with (
        pytest.raises(NotSupportedError),
        migrated(KeepTriggers(CONSTRAINT), migrations.RemoveConstraint("pet", "pets_pet_name_not_empty")),
    ):
        was_migrated = True

    assert not was_migrated
