"""The inventory: pets as its staff see them, and the counters by status."""

from django.db import models

from pets.models import Pet


class InventoryItem(Pet):
    """A pet as the store's staff see it: the same row, of which they change the status."""

    class Meta:
        proxy = True
        verbose_name = "inventory item"
        verbose_name_plural = "inventory"


class InventoryCounter(models.Model):
    """A share of the number of pets with one status; the count is the sum of its shares.

    Kept by the triggers in store.triggers, never by Python. There are as many shares of a status as writers that
    once changed it at the same time, so that none waits for another's transaction to end.
    """

    status = models.CharField(max_length=9, choices=Pet.Status)
    count = models.BigIntegerField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(status__in=["available", "pending", "sold"]),
                name="store_inventorycounter_status_known",
            )
        ]

    def __str__(self) -> str:
        return f"{self.status}: {self.count:+d}"
