"""Migrations keep the triggers on the pets' table, and build indexes without blocking the service."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import Mock

import pytest
from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import NotSupportedError, OperationalError, connection, migrations, models
from django.db.migrations.executor import MigrationExecutor

from pets.fields import new_pet_id
from pets.models import Pet
from pets.search.words import search
from store.services import inventory_counts

pytestmark = pytest.mark.django_db(transaction=True)

COLUMN = migrations.AddField("pet", "example", models.CharField(max_length=255, null=True))
CONSTRAINT = migrations.AddConstraint(
    "pet", models.CheckConstraint(condition=~models.Q(name="Tom"), name="example_constraint")
)
TABLE = migrations.CreateModel(
    "example", [("id", models.BigAutoField(primary_key=True)), ("day", models.DateField(db_index=True))]
)
INDEX = AddIndexConcurrently("pet", models.Index(fields=["tag", "name"], name="example_index"))


@contextmanager
def migrated(*operations: Any, atomic: bool = True) -> Iterator[None]:
    """Run a migration of the app pets with these operations, and reverse it at the end."""
    migration = migrations.Migration("example", "pets")
    migration.operations, migration.atomic = list(operations), atomic
    before = MigrationExecutor(connection).loader.project_state()
    MigrationExecutor(connection).apply_migration(before.clone(), migration)
    try:
        yield
    finally:
        MigrationExecutor(connection).unapply_migration(before, migration)


def triggers() -> list[tuple[str, str]]:
    """Return the names and the definitions of the triggers on the pets' table."""
    with connection.cursor() as cursor:
        cursor.execute(
            {
                "sqlite": "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY name",
                "postgresql": "SELECT tgname, pg_get_triggerdef(oid) FROM pg_trigger"
                " WHERE tgrelid = 'pets_pet'::regclass AND NOT tgisinternal ORDER BY tgname",
            }[connection.vendor]
        )
        return cursor.fetchall()


def index(name: str = "example_index") -> dict[str, Any] | None:
    """Return the description of an index, or None if it does not exist."""
    with connection.cursor() as cursor:
        return connection.introspection.get_constraints(cursor, "pets_pet").get(name)


@pytest.mark.parametrize("operation", [CONSTRAINT, migrations.RemoveConstraint("pet", "pets_pet_name_not_empty")])
def test_triggers_are_kept_forwards_and_backwards(operation: Any) -> None:
    Pet.objects.create(name="Rex")
    before = triggers()

    with migrated(COLUMN, operation):
        assert triggers() == before != []
        Pet.objects.create(name="Kit", status="sold")
        assert inventory_counts() == {"available": 1, "pending": 0, "sold": 1}

    assert triggers() == before
    Pet.objects.create(name="Tom")
    assert inventory_counts() == {"available": 2, "pending": 0, "sold": 1}


@pytest.mark.parametrize(
    ("operations", "atomic"), [([TABLE], True), ([COLUMN, CONSTRAINT, TABLE], True), ([COLUMN, INDEX], False)]
)
def test_a_migration_that_is_interrupted_before_its_record_can_be_repeated(
    operations: list[Any], atomic: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(MigrationExecutor, "record_migration", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt), migrated(*operations, atomic=atomic):
            pass

    with migrated(*operations, atomic=atomic):
        assert ("pets_example" in connection.introspection.table_names()) == (TABLE in operations)


def test_a_search_finds_the_same_pets_when_their_table_was_copied() -> None:
    for name in ("Max", "Rex", "Kit"):
        Pet.objects.create(name=name)
    Pet.objects.filter(name="Max").delete()

    def found() -> list[str]:
        return [pet.name for name in ("max", "rex", "kit") for pet in search(Pet.objects.all(), name)]

    with migrated(COLUMN, CONSTRAINT):
        assert found() == ["Rex", "Kit"]
    assert found() == ["Rex", "Kit"]


@pytest.mark.parametrize("is_repeated", [False, True], ids=["once", "after a run that was not recorded"])
def test_concurrent_index_is_added_and_removed_forwards_and_backwards(is_repeated: bool) -> None:
    with connection.schema_editor(atomic=False) as editor:
        if is_repeated:
            editor.add_index(Pet, models.Index("name", name="example_index"))
            editor.remove_index(Pet, models.Index("name", name="pets_pet_by_tag"), concurrently=True)

    with migrated(INDEX, atomic=False):
        assert index()["columns"] == ["tag", "name"]  # type: ignore[index]
    assert index() is None
    with migrated(RemoveIndexConcurrently("pet", "pets_pet_by_tag"), atomic=False):
        assert index("pets_pet_by_tag") is None
    assert index("pets_pet_by_tag") is not None


def test_concurrent_index_in_a_transaction_is_rejected_with_what_to_do() -> None:
    with pytest.raises(NotSupportedError, match="set atomic = False on the migration"), migrated(INDEX):
        pass


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="only PostgreSQL can leave an incomplete index")
def test_invalid_index_of_an_aborted_run_is_replaced_without_blocking_writers() -> None:
    is_valid = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('example_index')"
    writer = connection.copy()
    writer.set_autocommit(False)
    try:
        with writer.cursor() as writing, connection.cursor() as cursor:
            writing.execute(
                "INSERT INTO pets_pet (id, name, status, created_at) VALUES (%s, 'Rex', 'sold', now())", [new_pet_id()]
            )
            cursor.execute("SET statement_timeout = '500ms'")  # the build waits for the transaction of the writer
            with pytest.raises(OperationalError, match="statement timeout"), migrated(INDEX, atomic=False):
                pass
            cursor.execute("RESET statement_timeout")
            cursor.execute(is_valid)
            assert cursor.fetchone() == (False,)
            writing.execute("UPDATE pets_pet SET name = 'Kit'")  # would fail if the table were locked
        writer.commit()
    finally:
        writer.close()

    with migrated(INDEX, atomic=False), connection.cursor() as cursor:
        cursor.execute(is_valid)
        assert cursor.fetchone() == (True,)
