"""The stored counts equal a full count after every kind of write."""

from contextlib import suppress
from datetime import UTC, datetime

import pytest
from django.core.management import call_command
from django.db import connection, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pets.fields import new_pet_id
from pets.models import Pet
from store.services import inventory_counts
from tests.store.counts import STATUSES, ProvokedError, assert_exact
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
