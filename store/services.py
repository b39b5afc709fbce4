"""The stored counters of pets by status: reading and correcting them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from django.db import DEFAULT_DB_ALIAS, transaction
from django.db.models import Count, Sum

from pets.models import Pet
from petservice.db.backend import backend
from store.models import InventoryCounter

Counts = dict[str, int]

_ZERO = dict.fromkeys(Pet.Status.values, 0)


def inventory_counts(alias: str = DEFAULT_DB_ALIAS) -> Counts:
    """Return the number of pets with each status, at a cost that does not depend on the number of pets."""
    return all_counts(InventoryCounter.objects.using(alias).values_list("status").annotate(Sum("count")))


def all_counts(sums: Iterable[Sequence[Any]]) -> Counts:
    """Return the counts of all statuses, given the stored sums of those that have any."""
    return _ZERO | {status: int(count) for status, count in sums}


def inventory_drift() -> Counts:
    """Return by how many pets each stored counter that is wrong exceeds a full count."""
    # One statement, so that no pet is created between the two sums.
    stored = InventoryCounter.objects.values_list("status").annotate(number=Sum("count"))
    counted = Pet.objects.order_by().values_list("status").annotate(number=-Count("pk"))
    drift: Counter[str] = Counter()
    for status, number in stored.union(counted, all=True):
        drift[status] += number
    return {status: number for status, number in sorted(drift.items()) if number}


@transaction.atomic
def reconcile_inventory() -> tuple[Counts, Counts]:
    """Correct the stored counters by a full count, and return the counts before and after that.

    Other writers of pets wait until the transaction ends.
    """
    backend().lock_out_writers([Pet._meta.db_table])  # no pet may change between the count and the correction
    stored, drift = inventory_counts(), inventory_drift()
    InventoryCounter.objects.bulk_create(
        InventoryCounter(status=status, count=-number) for status, number in drift.items()
    )
    return stored, inventory_counts()
