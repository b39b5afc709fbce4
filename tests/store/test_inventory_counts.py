"""The kept counts equal a full count, whoever writes and however."""

import random
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from io import StringIO

import pytest
from django.core.management import call_command
from django.core.management.color import no_style
from django.db import IntegrityError, connection, transaction
from django.db.models import Count
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pets.fields import new_pet_id
from pets.models import Pet
from store.models import InventoryCounter
from store.services import inventory_counts, reconcile_inventory

STATUSES = Pet.Status.values
NONE = dict.fromkeys(STATUSES, 0)

Write = Callable[[int, str, str], object]


def full_count() -> dict[str, int]:
    return NONE | dict(Pet.objects.order_by().values_list("status").annotate(Count("pk")))


def assert_exact() -> None:
    assert inventory_counts() == full_count()


class ProvokedError(Exception):
    """Ends a transaction that is not to happen."""


# The writes: each takes a number to pick pets by, and two statuses. `_some` is every pet or each second one.


def _one(pick: int) -> Pet | None:
    pets = list(Pet.objects.order_by("pk"))
    return pets[pick % len(pets)] if pets else None


def _some(pick: int) -> list[str]:
    return [pk for number, pk in enumerate(Pet.objects.order_by("pk").values_list("pk", flat=True)) if number >= pick]


def create(pick: int, status: str, other: str) -> None:
    Pet.objects.create(name="Rex", status=status)


def bulk_create(pick: int, status: str, other: str) -> None:
    Pet.objects.bulk_create(Pet(name="Rex", status=(status, other)[number % 2]) for number in range(pick))


def bulk_create_over_existing(pick: int, status: str, other: str) -> None:
    pets = [Pet(id=pk, name="Rex", status=status) for pk in _some(pick)] + [Pet(name="Tom", status=other)]
    Pet.objects.bulk_create(pets, update_conflicts=True, unique_fields=["id"], update_fields=["status"])


def save(pick: int, status: str, other: str) -> None:
    if pet := _one(pick):
        pet.status = status
        pet.save()


def save_under_another_id(pick: int, status: str, other: str) -> None:
    Pet.objects.filter(pk__in=_some(pick)[:1]).update(id=new_pet_id(), status=status)


def bulk_update(pick: int, status: str, other: str) -> None:
    pets = list(Pet.objects.filter(pk__in=_some(pick)))
    for number, pet in enumerate(pets):
        pet.status = (status, other)[number % 2]
    Pet.objects.bulk_update(pets, ["status", "name"])


def queryset_update(pick: int, status: str, other: str) -> None:
    Pet.objects.filter(status=status).update(status=other)


def update_of_something_else(pick: int, status: str, other: str) -> None:
    Pet.objects.filter(status=status).update(name="Tom")


def instance_delete(pick: int, status: str, other: str) -> None:
    if pet := _one(pick):
        pet.delete()


def queryset_delete(pick: int, status: str, other: str) -> None:
    Pet.objects.filter(status=status).delete()


def _execute(statement: str, *values: object) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)


def sql_insert(pick: int, status: str, other: str) -> None:
    _execute(
        "INSERT INTO pets_pet (id, name, status, created_at) VALUES (%s, 'Rex', %s, %s), (%s, 'Tom', %s, %s)",
        *(new_pet_id(), status, timezone.now(), new_pet_id(), other, timezone.now()),
    )


def sql_update(pick: int, status: str, other: str) -> None:
    _execute("UPDATE pets_pet SET status = CASE status WHEN %s THEN %s ELSE %s END", status, other, status)


def sql_delete(pick: int, status: str, other: str) -> None:
    _execute("DELETE FROM pets_pet WHERE status IN (%s, %s)", status, other)


def sql_replace(pick: int, status: str, other: str) -> None:
    pet = _one(pick)
    statement = {
        # Deletes what is in the way, and fires no trigger for it unless told to.
        "sqlite": "REPLACE INTO pets_pet (id, name, status, created_at) VALUES (%s, 'Rex', %s, %s)",
        "postgresql": "INSERT INTO pets_pet (id, name, status, created_at) VALUES (%s, 'Rex', %s, %s) "
        "ON CONFLICT (id) DO UPDATE SET status = EXCLUDED.status",
    }[connection.vendor]
    _execute(statement, pet.pk if pet else new_pet_id(), status, timezone.now())


WRITES: list[Write] = [
    create,
    bulk_create,
    bulk_create_over_existing,
    save,
    save_under_another_id,
    bulk_update,
    queryset_update,
    update_of_something_else,
    instance_delete,
    queryset_delete,
    sql_insert,
    sql_update,
    sql_delete,
    sql_replace,
]

writes = st.tuples(st.sampled_from(WRITES), st.integers(0, 5), st.sampled_from(STATUSES), st.sampled_from(STATUSES))
# (whether it is rolled back, its writes); a write outside any transaction is one of its own.
transactions = st.tuples(st.booleans(), st.lists(writes, min_size=1, max_size=4))


@pytest.mark.django_db(transaction=True)
@settings(derandomize=True, deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(writes | transactions, max_size=8))
def test_any_sequence_of_writes_leaves_the_counts_equal_to_a_full_count(steps: list[tuple]) -> None:
    Pet.objects.all().delete()
    for step in steps:
        if len(step) == 4:
            write, *arguments = step
            write(*arguments)
        else:
            rolled_back, inner = step
            with suppress(ProvokedError), transaction.atomic():
                for write, *arguments in inner:
                    write(*arguments)
                assert_exact()
                if rolled_back:
                    raise ProvokedError
        assert_exact()


@pytest.mark.django_db
@pytest.mark.parametrize("write", WRITES)
def test_a_write_is_counted(write: Write) -> None:
    Pet.objects.bulk_create(Pet(name="Rex", status=status) for status in STATUSES * 3)

    write(1, "available", "sold")

    assert_exact()


@pytest.mark.django_db
def test_a_rolled_back_savepoint_is_not_counted() -> None:
    Pet.objects.create(name="Rex")
    with suppress(ProvokedError), transaction.atomic():
        Pet.objects.update(status="sold")
        raise ProvokedError

    assert inventory_counts() == NONE | {"available": 1}


@pytest.mark.django_db
def test_a_failed_statement_is_not_counted() -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        Pet.objects.bulk_create([Pet(name="Rex"), Pet(name="")])

    assert inventory_counts() == NONE


# Writers at the same time.

WRITERS = 8
ROUNDS = 12


def _write_at_random(seed: int) -> None:
    """Transactions of several statements, on pets of this writer's own, in an order of statuses of its own."""
    choose = random.Random(seed)
    name = f"Writer {seed}"
    own = Pet.objects.filter(name=name)
    for _ in range(ROUNDS):
        statuses = choose.sample(STATUSES, 3)
        with suppress(ProvokedError), transaction.atomic():
            for status in statuses:
                Pet.objects.bulk_create(Pet(name=name, status=status) for _ in range(choose.randrange(4)))
                own.filter(status=status).update(status=choose.choice(STATUSES))
                if choose.random() < 0.3:
                    own.filter(status=choose.choice(STATUSES)).delete()
            if choose.random() < 0.3:
                raise ProvokedError
        if pet := own.first():
            pet.status = choose.choice(STATUSES)
            pet.save()


@pytest.mark.django_db(transaction=True)
def test_concurrent_writers_neither_fail_nor_miscount() -> None:
    failures: list[Exception] = []
    start = threading.Barrier(WRITERS)

    def work(seed: int) -> None:
        try:
            connection.ensure_connection()
            start.wait()
            _write_at_random(seed)
        except Exception as error:  # reported below, in the test's own thread
            failures.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=work, args=[seed]) for seed in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    assert Pet.objects.exists()
    assert_exact()


@pytest.mark.django_db(transaction=True)
def test_a_writer_does_not_wait_for_another_status_writer_to_end() -> None:
    """On SQLite all writers queue; what counts there is that the second is let in once the first has ended."""
    Pet.objects.create(name="Rex")
    done = threading.Event()

    def work() -> None:
        try:
            Pet.objects.create(name="Tom")
            done.set()
        finally:
            connection.close()

    thread = threading.Thread(target=work)
    with transaction.atomic():
        Pet.objects.create(name="Tim")
        thread.start()
        if connection.vendor == "postgresql":
            assert done.wait(timeout=30)
    thread.join()

    assert done.is_set()
    assert inventory_counts() == NONE | {"available": 3}


# Emptying the tables.


def _empty(*tables: str) -> None:
    connection.ops.execute_sql_flush(connection.ops.sql_flush(no_style(), tables))


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "order",
    [["pets_pet", "store_inventorycounter"], ["store_inventorycounter", "pets_pet"], ["pets_pet"]],
    ids=["pets first", "counters first", "only pets"],
)
@pytest.mark.parametrize("at_once", [True, False], ids=["at once", "one by one"])
def test_emptied_tables_count_nothing_and_count_on(order: list[str], at_once: bool) -> None:
    Pet.objects.bulk_create(Pet(name="Rex", status=status) for status in STATUSES * 2)

    for tables in [order] if at_once else [[table] for table in order]:
        _empty(*tables)

    assert inventory_counts() == full_count() == NONE
    Pet.objects.create(name="Rex", status="sold")
    Pet.objects.update(status="pending")
    assert inventory_counts() == full_count() == NONE | {"pending": 1}


@pytest.mark.django_db(transaction=True)
def test_flush_leaves_nothing_and_counting_works_afterwards() -> None:
    Pet.objects.bulk_create(Pet(name="Rex", status=status) for status in STATUSES * 2)

    call_command("flush", interactive=False, verbosity=0)

    assert inventory_counts() == NONE
    Pet.objects.create(name="Rex")
    assert inventory_counts() == NONE | {"available": 1}


# What the database refuses.


@pytest.mark.django_db
@pytest.mark.parametrize(("field", "value"), [("status", "lost"), ("status", ""), ("name", ""), ("tag", "")])
def test_the_database_refuses_a_pet_that_cannot_be(field: str, value: str) -> None:
    with pytest.raises(IntegrityError):
        Pet.objects.create(**{"name": "Rex"} | {field: value})


@pytest.mark.django_db
def test_the_database_refuses_to_make_a_pet_impossible() -> None:
    Pet.objects.create(name="Rex")

    with pytest.raises(IntegrityError):
        Pet.objects.update(status="lost")


@pytest.mark.django_db
def test_the_database_refuses_a_counter_of_an_unknown_status() -> None:
    with pytest.raises(IntegrityError):
        InventoryCounter.objects.create(status="lost", count=1)


# Reading and mending.


@pytest.mark.django_db
@pytest.mark.parametrize("status", STATUSES)
def test_the_inventory_always_has_all_three_counts(status: str) -> None:
    assert inventory_counts() == NONE

    Pet.objects.create(name="Rex", status=status)

    assert inventory_counts() == NONE | {status: 1}


@pytest.mark.django_db
def test_reading_the_counts_does_not_look_at_the_pets(django_assert_num_queries) -> None:
    Pet.objects.bulk_create(Pet(name="Rex", status=status) for status in STATUSES * 10)

    with django_assert_num_queries(1) as queries:
        inventory_counts()

    assert "pets_pet" not in queries.captured_queries[0]["sql"]


def reconcile() -> str:
    output = StringIO()
    call_command("reconcile_inventory", stdout=output)
    return output.getvalue()


@pytest.mark.django_db
def test_reconcile_finds_an_error_corrects_it_and_says_so() -> None:
    Pet.objects.bulk_create(Pet(name="Rex", status=status) for status in ("available", "available", "sold"))
    InventoryCounter.objects.filter(status="available").delete()
    InventoryCounter.objects.create(status="pending", count=5)

    assert reconcile().splitlines() == [
        "available: 2 (corrected; the kept count was 0)",
        "pending: 0 (corrected; the kept count was 5)",
        "sold: 1",
    ]
    assert_exact()


@pytest.mark.django_db
def test_reconcile_has_nothing_to_correct_when_nothing_is_wrong() -> None:
    Pet.objects.bulk_create(Pet(name="Rex", status=status) for status in ("available", "available", "sold"))
    before = list(InventoryCounter.objects.order_by("pk").values())

    assert reconcile().splitlines() == ["available: 2", "pending: 0", "sold: 1"]
    assert list(InventoryCounter.objects.order_by("pk").values()) == before


@pytest.mark.django_db
def test_counting_works_on_after_a_correction() -> None:
    Pet.objects.create(name="Rex")
    InventoryCounter.objects.all().delete()
    reconcile_inventory()

    Pet.objects.create(name="Tom", status="pending")
    Pet.objects.filter(name="Rex").delete()

    assert inventory_counts() == full_count() == NONE | {"pending": 1}


@pytest.mark.django_db(transaction=True)
def test_a_database_with_pets_of_the_first_version_counts_on_after_its_migration() -> None:
    """As in an upgrade; in a new database the pets' later migrations run before the triggers are there."""
    call_command("migrate", "store", "0002", verbosity=0)
    call_command("migrate", "pets", "0001", verbosity=0)
    columns = "INSERT INTO pets_pet (id, name, status, created_at) VALUES (%s, 'Rex', 'pending', %s)"
    with connection.cursor() as cursor:
        for day in (1, 1, 2):
            cursor.execute(columns, [new_pet_id(), datetime(2026, 11, day, tzinfo=UTC)])

    call_command("migrate", verbosity=0)

    assert_exact()
    Pet.objects.create(name="Tom")
    assert_exact()
    assert inventory_counts() == {"available": 1, "pending": 3, "sold": 0}
