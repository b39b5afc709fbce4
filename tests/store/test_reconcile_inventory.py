"""The command reconcile_inventory, which corrects the stored counts."""

from io import StringIO

import pytest
from django.core.management import call_command

from pets.models import Pet
from store.models import InventoryCounter
from store.services import inventory_counts, reconcile_inventory
from tests.concurrent_write import only_on_postgresql, write_before
from tests.store.counts import NONE, assert_exact, full_count

pytestmark = pytest.mark.django_db


def reconcile() -> str:
    output = StringIO()
    call_command("reconcile_inventory", stdout=output)
    return output.getvalue()


def test_reconcile_corrects_a_wrong_count_and_reports_it_and_counting_continues() -> None:
    Pet.objects.bulk_create(Pet(name="Rex", status=status) for status in ("available", "available", "sold"))
    InventoryCounter.objects.filter(status="available").delete()
    InventoryCounter.objects.create(status="pending", count=5)

    assert reconcile().splitlines() == [
        "available: 2 (corrected; was 0)",
        "pending: 0 (corrected; was 5)",
        "sold: 1",
    ]
    assert_exact()
    before = list(InventoryCounter.objects.order_by("pk").values())
    assert reconcile().splitlines() == ["available: 2", "pending: 0", "sold: 1"]
    assert list(InventoryCounter.objects.order_by("pk").values()) == before
    Pet.objects.create(name="Tom", status="pending")
    Pet.objects.filter(status="sold").delete()
    assert_exact()


@only_on_postgresql
def test_a_pet_that_is_added_during_a_correction_is_counted() -> None:
    Pet.objects.create(name="Rex")
    InventoryCounter.objects.update(count=5)

    with write_before('INSERT INTO "store_inventorycounter"', lambda: Pet.objects.create(name="Tom")):
        reconcile_inventory()

    assert inventory_counts() == full_count() == NONE | {"available": 2}
