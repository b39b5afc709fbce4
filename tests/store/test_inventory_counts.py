"""The stored counts equal a full count after every kind of write, also of several writers at the same time."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import product

import pytest
from django.core.management.color import no_style
from django.db import IntegrityError, connection, transaction
from django.db.models import Count, Q
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pets.models import Pet
from pets.search.words import search
from petservice.journal.models import Event
from store.models import InventoryCounter
from store.services import inventory_counts, reconcile_inventory
from tests.concurrent_write import only_on_postgresql, without_waiting, write_before
from tests.store.writes import WRITES, Write, replace

pytestmark = pytest.mark.django_db

STATUSES = Pet.Status.values
NONE = dict.fromkeys(STATUSES, 0)


def assert_exact() -> None:
    assert inventory_counts() == NONE | dict(Pet.objects.order_by().values_list("status").annotate(Count("pk")))


# The values of filters that the index has on SQLite. PostgreSQL combines its indexes.
FILTERS = {status: Q(status=status) for status in Pet.Status.values} | {
    "untagged": Q(tag=None),
    "sta": Q(created_by="staff ada"),
    "com": Q(created_by="command import_pets"),
}


def assert_found() -> None:
    """Check that the search for each word finds the pets that have it, with each filter and without."""
    for word in ("rex", "tom", "dog", "cat"):
        pets = Pet.objects.filter(Q(name__iexact=word) | Q(tag=word))
        assert {*search(Pet.objects.all(), word)} == {*pets}, word
        for value, condition in FILTERS.items() if connection.vendor == "sqlite" else ():
            assert {*search(Pet.objects.all(), word, filters=[value])} == {*pets.filter(condition)}, (word, value)


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
            with transaction.atomic():
                for write, *arguments in inner:
                    write(*arguments)
                assert_exact()
                transaction.set_rollback(rolled_back)
        assert_exact()


@pytest.mark.parametrize("write", WRITES)
def test_each_write_is_counted_and_found_raises_versions_and_keeps_the_times_of_sales(write: Write) -> None:
    past = datetime(2026, 3, 1, 12, tzinfo=UTC)
    for statuses in (("available", "sold"), ("sold", "available"), ("pending", "sold")):
        Pet.objects.all().delete()
        Pet.objects.bulk_create(
            Pet(name="Rex", tag=tag, status=status, created_by="staff ada")
            for status, tag in product(STATUSES, ("dog", "untagged", None))
        )
        Pet.objects.filter(status="sold").update(sold_at=past)
        before = Pet.objects.in_bulk()

        write(1, *statuses)

        assert_exact()
        assert_found()
        for pet in Pet.objects.all():
            old = before.get(pet.pk)
            is_another = old is None or write is replace  # which makes another pet of the same id
            if pet.status != "sold":
                assert pet.sold_at is None, statuses
            elif old and old.status == "sold" and not is_another:
                assert pet.sold_at == past, statuses
            else:
                assert pet.sold_at == past or abs(timezone.now() - pet.sold_at) < timedelta(minutes=10), statuses
            if not is_another and (pet.name, pet.tag, pet.status) != (old.name, old.tag, old.status):
                assert pet.version > old.version, statuses


PETS, COUNTERS = "pets_pet", "store_inventorycounter"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("emptied", [[[PETS, COUNTERS]], [[COUNTERS], [PETS]], [[PETS]]], ids=str)
def test_counts_of_emptied_tables_are_zero_and_counting_continues(emptied: list[list[str]]) -> None:
    Pet.objects.bulk_create(Pet(name="Rex", status=status) for status in STATUSES * 2)

    for tables in emptied:
        connection.ops.execute_sql_flush(connection.ops.sql_flush(no_style(), tables))

    assert inventory_counts() == NONE
    Pet.objects.create(name="Rex", status="sold")
    Pet.objects.update(status="pending")
    assert inventory_counts() == NONE | {"pending": 1}


# Several writers at the same time.


def _write_pets_of(statuses: Sequence[str]) -> None:
    """Create, change and delete pets of each status, in one transaction."""
    with transaction.atomic():
        for status in statuses:
            created = Pet.objects.bulk_create(Pet(name="Rex", status=status) for _ in range(3))
            Pet.objects.filter(pk=created[0].pk).update(status=statuses[0])
            Pet.objects.filter(pk=created[1].pk).delete()


@only_on_postgresql
def test_writers_of_all_statuses_in_other_orders_do_not_wait_and_the_counts_stay_exact() -> None:
    _write_pets_of(STATUSES)
    for rolled_back in (True, False):
        with transaction.atomic():
            _write_pets_of(STATUSES)
            without_waiting(partial(_write_pets_of, STATUSES[::-1]))
            transaction.set_rollback(rolled_back)

    assert Pet.objects.count() == 4 * 2 * len(STATUSES)
    assert_exact()


# Of which a block has 226.
VERSIONS_OF_A_COUNTER = 2500
MAX_BLOCKS = 10


@only_on_postgresql
def test_an_update_of_a_counter_reads_few_blocks_however_many_dead_rows_there_are() -> None:
    """A backup with pg_dump keeps the dead rows of its duration, as the transaction of this test does.

    The least of three updates counts, because the first after an automatic ANALYZE reads the catalogue to plan again.
    """
    Pet.objects.create(name="Tom", status=Pet.Status.SOLD)
    with transaction.atomic(), connection.cursor() as cursor:
        for _ in range(VERSIONS_OF_A_COUNTER // 2):
            cursor.execute("SELECT store_add_to_counter('available', 1), store_add_to_counter('available', -1)")
        cursor.execute("SELECT pg_relation_size('store_inventorycounter') / 8192")
        (blocks,) = cursor.fetchone()
        read = []
        for _ in range(3):
            cursor.execute("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT store_add_to_counter('available', 1)")
            ((explained,),) = cursor.fetchall()
            read.append(explained[0]["Plan"]["Shared Hit Blocks"])
    assert blocks > MAX_BLOCKS
    assert min(read) <= MAX_BLOCKS


def test_the_database_rejects_an_invalid_pet_an_invalid_change_and_an_invalid_counter() -> None:
    Pet.objects.create(name="Tom")

    for invalid in ({"status": "lost"}, {"status": ""}, {"name": ""}, {"tag": ""}):
        for write in (Pet.objects.create, Pet.objects.update):
            with pytest.raises(IntegrityError), transaction.atomic():
                write(**{"name": "Rex"} | invalid)
    with pytest.raises(IntegrityError):
        InventoryCounter.objects.create(status="lost", count=1)


# The correction of wrong counts.


def test_reconcile_corrects_a_wrong_count_and_reports_it_and_counting_continues(
    run: Callable[..., tuple[str, str]],
) -> None:
    Pet.objects.bulk_create(Pet(name="Rex", status=status) for status in ("available", "available", "sold"))
    InventoryCounter.objects.filter(status="available").delete()
    InventoryCounter.objects.create(status="pending", count=5)

    corrected, _ = run("reconcile_inventory")
    assert corrected == "available: 2 (corrected; was 0)\npending: 0 (corrected; was 5)\nsold: 1\n"
    assert_exact()
    before = list(InventoryCounter.objects.order_by("pk").values())
    assert run("reconcile_inventory")[0] == "available: 2\npending: 0\nsold: 1\n"
    assert list(InventoryCounter.objects.order_by("pk").values()) == before
    recorded = "Count of available changed from 0 to 2. Count of pending changed from 5 to 0. Run by "
    assert Event.objects.get().message.startswith(recorded)
    Pet.objects.create(name="Tom", status="pending")
    Pet.objects.filter(status="sold").delete()
    assert_exact()


@only_on_postgresql
def test_a_pet_that_is_added_during_a_correction_is_counted() -> None:
    Pet.objects.create(name="Rex")
    InventoryCounter.objects.update(count=5)

    with write_before('INSERT INTO "store_inventorycounter"', lambda: Pet.objects.create(name="Tom")):
        reconcile_inventory()

    assert inventory_counts() == NONE | {"available": 2}
