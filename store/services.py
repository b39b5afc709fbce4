"""Reading the kept counts of pets, and mending them."""

from datetime import UTC, date, timedelta
from typing import NamedTuple

from django.db import connection, transaction
from django.db.models import Count, Sum
from django.db.models.functions import TruncDate

from pets.models import Pet
from petservice.db.compiled import CompiledQuery
from store.models import DayCounter, InventoryCounter

Counts = dict[str, int]
Days = dict[date, int]

_NOTHING = dict.fromkeys(Pet.Status.values, 0)
_SUMS = CompiledQuery(lambda: InventoryCounter.objects.values_list("status").annotate(Sum("count")))


def inventory_counts() -> Counts:
    """The number of pets of each status; costs the same however many pets there are."""
    return _NOTHING | {status: int(count) for status, count in _SUMS.rows()}


def pets_created_per_day(first: date, last: date) -> Days:
    """For each day (UTC) from `first` to `last`, how many of the pets that exist were created on it; costs the same
    however many pets there are.
    """
    sums = DayCounter.objects.filter(day__range=(first, last)).values_list("day").annotate(Sum("count"))
    days = (first + timedelta(days=number) for number in range((last - first).days + 1))
    return {**dict.fromkeys(days, 0), **dict(sums)}


class Reconciled(NamedTuple):
    """What was kept and what a full count has found: of statuses, and of the days that have pets."""

    kept: Counts
    counted: Counts
    kept_days: Days
    counted_days: Days


@transaction.atomic
def reconcile_inventory() -> Reconciled:
    """Compare the kept counts with full counts and mend them; returns both.

    Writers to the pets' table wait meanwhile.
    """
    if connection.vendor == "postgresql":
        # SQLite's transactions begin as the only writer; here others would slip in between count and mending.
        with connection.cursor() as cursor:
            cursor.execute(f"LOCK TABLE {Pet._meta.db_table} IN SHARE MODE")
    return Reconciled(*_reconcile_statuses(), *_reconcile_days())


def _reconcile_statuses() -> tuple[Counts, Counts]:
    kept = inventory_counts()
    counted = dict.fromkeys(Pet.Status.values, 0)
    counted.update(Pet.objects.order_by().values_list("status").annotate(Count("pk")))
    if kept != counted:
        InventoryCounter.objects.all().delete()
        InventoryCounter.objects.bulk_create(
            InventoryCounter(status=status, count=count) for status, count in counted.items()
        )
    return kept, counted


def _reconcile_days() -> tuple[Days, Days]:
    sums = DayCounter.objects.values_list("day").annotate(Sum("count"))
    kept = {day: count for day, count in sums if count}
    day = TruncDate("created_at", tzinfo=UTC)
    counted = dict(Pet.objects.order_by().annotate(day=day).values_list("day").annotate(Count("pk")))
    if kept != counted:
        DayCounter.objects.all().delete()
        DayCounter.objects.bulk_create(DayCounter(day=day, count=count) for day, count in counted.items())
    return kept, counted
