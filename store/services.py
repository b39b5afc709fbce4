"""The kept counts of pets by status: read, and corrected."""

from typing import NamedTuple

from django.db import transaction
from django.db.models import Count, Sum

from pets.models import Pet
from petservice.db.backend import backend
from petservice.db.compiled import CompiledQuery
from store.models import InventoryCounter

Counts = dict[str, int]

_NOTHING = dict.fromkeys(Pet.Status.values, 0)
_SUMS = CompiledQuery(lambda: InventoryCounter.objects.values_list("status").annotate(Sum("count")))


def inventory_counts() -> Counts:
    """The number of pets of each status; costs the same however many pets there are."""
    return _NOTHING | {status: int(count) for status, count in _SUMS.rows()}


class Reconciled(NamedTuple):
    """The counts that were kept, and those that a full count has found."""

    kept: Counts
    counted: Counts


@transaction.atomic
def reconcile_inventory() -> Reconciled:
    """Compare the kept counts with full counts and correct them; returns both.

    Writers to the pets' table wait meanwhile.
    """
    backend().lock_out_writers(Pet._meta.db_table)  # who would slip in between count and correction
    kept = inventory_counts()
    counted = dict.fromkeys(Pet.Status.values, 0)
    counted.update(Pet.objects.order_by().values_list("status").annotate(Count("pk")))
    if kept != counted:
        InventoryCounter.objects.all().delete()
        InventoryCounter.objects.bulk_create(
            InventoryCounter(status=status, count=count) for status, count in counted.items()
        )
    return Reconciled(kept, counted)
