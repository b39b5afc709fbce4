"""The removal of old events and addresses, and of the values of records whose time in the trash has ended."""

from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from petservice.journal.models import Event, Item

# Maximum number of rows that are changed or removed together, so that no login and no change waits for long.
MAX_REMOVED = 1000
_WITHOUT_RECORDS = [
    Event.Kind.LOGIN,
    Event.Kind.LOGIN_FAILED,
    Event.Kind.LOCKED_OUT,
    Event.Kind.LOGOUT,
    Event.Kind.EXPORTED,
]


def remove_old_events(now: datetime | None = None) -> None:
    """Remove some of the events that are older than AUDIT_DAYS. Each login does this, so the journal stays bounded.

    Events about records stay as the history of these records, but lose their addresses.
    """
    if not settings.AUDIT_DAYS:
        return
    begin = (now or timezone.now()) - timedelta(days=settings.AUDIT_DAYS)
    # Rows that another login changes at the same time are skipped, so that neither waits for the other.
    old = Event.objects.select_for_update(skip_locked=True).filter(at__lt=begin).values_list("pk", flat=True)
    # In the order of an index. In that of time alone, PostgreSQL would read all changes of records, which are kept.
    without_records = [*old.filter(kind__in=_WITHOUT_RECORDS).order_by("kind", "at")[:MAX_REMOVED]]
    Event.objects.filter(pk__in=without_records).delete()
    with_address = [*old.filter(address__isnull=False).order_by("at")[:MAX_REMOVED]]
    Event.objects.filter(pk__in=with_address).update(address=None)


def empty_trash(*, now: datetime, beyond: int) -> None:
    """Remove the values of some expired records in the trash, a few more than `beyond`. Each deletion does this."""
    expired = (
        Item.objects.filter(in_trash_until__lte=now)
        .order_by("in_trash_until", "pk")
        .select_for_update(skip_locked=True, of=("self",))
        .values_list("pk", flat=True)[: beyond + MAX_REMOVED]
    )
    Item.objects.filter(pk__in=[*expired]).update(before={}, in_trash_until=None)
