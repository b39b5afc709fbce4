"""The removal of old entries from the audit."""

from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from petservice.audit.models import AuditEntry

# Maximum number of entries that are removed together, so that no login waits for long.
MAX_REMOVED = 1000


def remove_old_entries(now: datetime | None = None) -> None:
    """Remove some of the entries that are older than AUDIT_DAYS. Each login does this, so the audit stays bounded."""
    if not settings.AUDIT_DAYS:
        return
    begin = (now or timezone.now()) - timedelta(days=settings.AUDIT_DAYS)
    # Entries that another login removes at the same time are skipped, so that neither waits for the other.
    old = AuditEntry.objects.select_for_update(skip_locked=True).filter(at__lt=begin).order_by("at", "pk")
    AuditEntry.objects.filter(pk__in=[*old.values_list("pk", flat=True)[:MAX_REMOVED]]).delete()
