"""The stored counts equal a full count after every kind of write, also of several writers at the same time."""

import threading
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial

import pytest
from django.core.management import call_command
from django.core.management.color import no_style
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pets.fields import new_pet_id
from pets.models import Pet
from store.services import inventory_counts
from tests.concurrent_write import only_on_postgresql, without_waiting
from tests.store.counts import NONE, STATUSES, ProvokedError, assert_exact, full_count
from tests.store.writes import WRITES, Write

pytestmark = pytest.mark.django_db

writes = st.tuples(st.sampled_from(WRITES), st.integers(0, 5), st.sampled_from(STATUSES), st.sampled_from(STATUSES))
# A transaction is (is it rolled back, its writes). A write outside a transaction commits itself.
transactions = st.tuples(st.booleans(), st.lists(writes, min_size=1, max_size=4))


@pytest.mark.django_db(transaction=True)
@settings(derandomize=True, deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(writes | transactions, max_size=8))
def test_the_counts_equal_a_full_count_after_any_sequence_of_writes(steps: list[tuple]) -> None:
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


@pytest.mark.parametrize("write", WRITES)
def test_a_write_is_counted(write: Write) -> None:
    Pet.objects.bulk_create(Pet(name="Rex", status=status) for status in STATUSES * 3)

    write(1, "available", "sold")

    assert_exact()


def test_reading_the_counts_does_not_read_the_pets(django_assert_num_queries) -> None:
    Pet.objects.bulk_create(Pet(name="Rex", status=status) for status in STATUSES * 10)

    with django_assert_num_queries(1) as queries:
        inventory_counts()

    assert "pets_pet" not in queries.captured_queries[0]["sql"]


@pytest.mark.django_db(transaction=True)
def test_counts_are_exact_after_the_migration_of_a_database_of_the_first_version() -> None:
    """An upgrade runs later migrations of pets with the triggers installed, unlike in a new database."""
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


# Emptied tables.


def _empty(*tables: str) -> None:
    connection.ops.execute_sql_flush(connection.ops.sql_flush(no_style(), tables))


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "order",
    [["pets_pet", "store_inventorycounter"], ["store_inventorycounter", "pets_pet"], ["pets_pet"]],
    ids=["pets first", "counters first", "only pets"],
)
@pytest.mark.parametrize("at_once", [True, False], ids=["together", "one by one"])
def test_counts_of_emptied_tables_are_zero_and_counting_continues(order: list[str], at_once: bool) -> None:
    Pet.objects.bulk_create(Pet(name="Rex", status=status) for status in STATUSES * 2)

    for tables in [order] if at_once else [[table] for table in order]:
        _empty(*tables)

    assert inventory_counts() == full_count() == NONE
    Pet.objects.create(name="Rex", status="sold")
    Pet.objects.update(status="pending")
    assert inventory_counts() == full_count() == NONE | {"pending": 1}


@pytest.mark.django_db(transaction=True)
def test_counts_are_zero_after_flush_and_counting_continues() -> None:
    Pet.objects.bulk_create(Pet(name="Rex", status=status) for status in STATUSES * 2)

    call_command("flush", interactive=False, verbosity=0)

    assert inventory_counts() == NONE
    Pet.objects.create(name="Rex")
    assert inventory_counts() == NONE | {"available": 1}


# Several writers at the same time.


def _write_pets_of(statuses: Sequence[str]) -> None:
    """Create, change and delete pets of each status, in one transaction."""
    with transaction.atomic():
        for status in statuses:
            created = Pet.objects.bulk_create(Pet(name="Rex", status=status) for _ in range(3))
            Pet.objects.filter(pk=created[0].pk).update(status=statuses[0])
            Pet.objects.filter(pk=created[1].pk).delete()


@only_on_postgresql
@pytest.mark.django_db(transaction=True)
def test_writers_of_all_statuses_in_other_orders_do_not_wait_and_the_counts_stay_exact() -> None:
    _write_pets_of(STATUSES)
    with suppress(ProvokedError), transaction.atomic():
        _write_pets_of(STATUSES)
        without_waiting(partial(_write_pets_of, STATUSES[::-1]))
        raise ProvokedError
    with transaction.atomic():
        _write_pets_of(STATUSES)
        without_waiting(partial(_write_pets_of, STATUSES[::-1]))

    assert Pet.objects.count() == 4 * 2 * len(STATUSES)
    assert_exact()


@pytest.mark.django_db(transaction=True)
def test_a_writer_does_not_wait_for_another_writer_of_the_same_status() -> None:
    """On SQLite writers wait for each other, so there the second writer must succeed after the first."""
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
