"""Sample entries of the audit for measurements, the same in every run."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from django.db import connection

from petservice.audit.models import AuditEntry
from tests.benchmarks.sample_pets import insert

_DAYS = 700
_COLUMNS = ("at", "kind", "account_name", "address", "record_type", "record_id", "record_name", "count", "message")


def fill_audit(number: int) -> None:
    """Insert `number` entries. Most are changes of pets by two accounts; other combinations are rare or missing."""
    insert("audit_auditentry", _COLUMNS, _rows(number))
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":  # its autovacuum would do this later
            cursor.execute("VACUUM ANALYZE audit_auditentry")


def _rows(number: int) -> Iterator[tuple[datetime, str, str, str, str, str, str, int, str]]:
    now, kinds = datetime.now(UTC), AuditEntry.Kind
    for position in range(number):
        at = now - timedelta(days=_DAYS) * (1 - position / number)
        kind, record_type = kinds.CHANGED, "pets.pet"
        if position % 10 == 0:
            kind, record_type = kinds.LOGIN, ""
        elif position % 1000 == 1:
            kind, record_type = kinds.KEY_ROTATED, "apikeys.apikey"
        person = ("ada", "bea")[position % 2]
        record_id = f"{position % (number // 4):032x}" if record_type else ""
        yield at, kind, person, "192.0.2.7", record_type, record_id, "Rex", 1, "Status changed from available to sold."
