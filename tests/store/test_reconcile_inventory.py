"""Correcting the stored counts by the command reconcile_inventory."""

from io import StringIO

import pytest
from django.core.management import call_command

from pets.models import Pet
from store.models import InventoryCounter
from store.services import inventory_counts, reconcile_inventory
from tests.store.counts import NONE, assert_exact, full_count


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
