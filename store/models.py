"""The models of the inventory: pets as inventory items, and the counters by status."""

from django.db import models

from pets.models import Pet


class InventoryItem(Pet):
    """A pet, for two permissions: to see the inventory, and to change only the statuses of pets."""

    class Meta:
        proxy = True
        verbose_name = "inventory item"
        verbose_name_plural = "inventory"


class InventoryCounter(models.Model):
    """A part of the number of pets with one status; the number is the sum of its counters.

    Only triggers (store/migrations/_triggers.py) write the counters. Concurrent writers of one status use different
    counters, so that no writer waits until the transaction of another writer ends.
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
        indexes = [models.Index(fields=["status", "id"], name="store_inventorycounter_newest")]
