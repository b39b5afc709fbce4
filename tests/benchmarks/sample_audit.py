"""Sample entries of the audit for measurements, the same in every run."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice

from django.db import connection, transaction

from petservice.audit.models import AuditEntry

_DAYS = 700
# Number of rows in one statement, well below the timeout of a statement.
_BATCH = 50_000
_COLUMNS = ("at", "kind", "account_name", "address", "record_type", "record_id", "record_name", "count", "message")


def fill_audit(number: int) -> None:
    """Insert `number` entries. Most are changes of pets by two accounts; other combinations are rare or missing."""
    names = ", ".join(_COLUMNS)
    with transaction.atomic(), connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            rows = _rows(number)
            while batch := list(islice(rows, _BATCH)):
                with cursor.copy(f"COPY audit_auditentry ({names}) FROM STDIN") as copy:
                    for row in batch:
                        copy.write_row(row)
        else:
            # The driver's executemany, because Django's would record each statement.
            connection.connection.executemany(
                f"INSERT INTO audit_auditentry ({names}) VALUES ({', '.join('?' * len(_COLUMNS))})",
                ((row[0].strftime("%Y-%m-%d %H:%M:%S.%f"), *row[1:]) for row in _rows(number)),
            )
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
