"""Reading the inventory's counts, and mending them."""

from django.db import connection, transaction
from django.db.models import Count, Sum

from pets.models import Pet
from store.models import InventoryCounter

Counts = dict[str, int]


def inventory_counts() -> Counts:
    """The number of pets of each status; costs the same however many pets there are."""
    sums = InventoryCounter.objects.values_list("status").annotate(Sum("count"))
    return {**dict.fromkeys(Pet.Status.values, 0), **dict(sums)}


@transaction.atomic
def reconcile_inventory() -> tuple[Counts, Counts]:
    """Compare the kept counts with a full count and mend them; returns both, kept and counted.

    Writers to the pets' table wait meanwhile.
    """
    if connection.vendor == "postgresql":
        # SQLite's transactions begin as the only writer; here others would slip in between count and mending.
        with connection.cursor() as cursor:
            cursor.execute(f"LOCK TABLE {Pet._meta.db_table} IN SHARE MODE")
    kept = inventory_counts()
    counted = dict.fromkeys(Pet.Status.values, 0)
    counted.update(Pet.objects.order_by().values_list("status").annotate(Count("pk")))
    if kept != counted:
        InventoryCounter.objects.all().delete()
        InventoryCounter.objects.bulk_create(
            InventoryCounter(status=status, count=count) for status, count in counted.items()
        )
    return kept, counted
