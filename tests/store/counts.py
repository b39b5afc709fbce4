"""The comparison of the stored counts with a full count."""

from django.db.models import Count

from pets.models import Pet
from store.services import inventory_counts

STATUSES = Pet.Status.values
NONE = dict.fromkeys(STATUSES, 0)


def full_count() -> dict[str, int]:
    return NONE | dict(Pet.objects.order_by().values_list("status").annotate(Count("pk")))


def assert_exact() -> None:
    assert inventory_counts() == full_count()


class ProvokedError(Exception):
    """An error that rolls back a transaction."""
