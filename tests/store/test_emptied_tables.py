"""The stored counts after tables were emptied."""

import pytest
from django.core.management import call_command
from django.core.management.color import no_style
from django.db import connection

from pets.models import Pet
from store.services import inventory_counts
from tests.store.counts import NONE, STATUSES, full_count

pytestmark = pytest.mark.django_db(transaction=True)


def _empty(*tables: str) -> None:
    connection.ops.execute_sql_flush(connection.ops.sql_flush(no_style(), tables))


@pytest.mark.parametrize(
    "order",
    [["pets_pet", "store_inventorycounter"], ["store_inventorycounter", "pets_pet"], ["pets_pet"]],
    ids=["pets first", "counters first", "only pets"],
)
@pytest.mark.parametrize("together", [True, False], ids=["together", "one by one"])
def test_counts_of_emptied_tables_are_zero_and_counting_continues(order: list[str], together: bool) -> None:
    Pet.objects.bulk_create(Pet(name="Rex", status=status) for status in STATUSES * 2)

    for tables in [order] if together else [[table] for table in order]:
        _empty(*tables)

    assert inventory_counts() == full_count() == NONE
    Pet.objects.create(name="Rex", status="sold")
    Pet.objects.update(status="pending")
    assert inventory_counts() == full_count() == NONE | {"pending": 1}


def test_counts_are_zero_after_flush_and_counting_continues() -> None:
    Pet.objects.bulk_create(Pet(name="Rex", status=status) for status in STATUSES * 2)

    call_command("flush", interactive=False, verbosity=0)

    assert inventory_counts() == NONE
    Pet.objects.create(name="Rex")
    assert inventory_counts() == NONE | {"available": 1}
