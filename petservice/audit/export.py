"""The export of the audit as a CSV file."""

import csv
import io
from collections.abc import Iterator
from typing import Any

from django.db.models import QuerySet

from petservice.audit.models import AuditEntry
from petservice.csv_formulas import escape
from petservice.db.backend import backend

# Maximum number of entries of a file, which is sent as a whole: about 20 MB, made in a few seconds. Files by days can
# contain more entries together.
MAX_ENTRIES = 100_000
_COLUMNS = ("at", "kind", "account_name", "address", "record_type", "record_id", "record_name", "count", "message")
_HEADER = ("time", "kind", "person", "address", "record type", "record ID", "record", "number", "message")
# Number of rows that the database sends together.
_BATCH = 2000
# Spreadsheets recognize UTF-8 by this mark.
_BYTE_ORDER_MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"


def csv_parts(entries: QuerySet[AuditEntry]) -> Iterator[str]:
    """Yield the parts of a CSV file with these entries."""
    part = io.StringIO(newline="")
    writer = csv.writer(part)
    part.write(_BYTE_ORDER_MARK)
    writer.writerow(_HEADER)
    with backend().read_consistently():
        rows = entries.values_list(*_COLUMNS)
        for number, row in enumerate(rows.iterator(chunk_size=_BATCH), start=1):
            writer.writerow(_cells(row))
            if number % _BATCH == 0:
                yield _taken(part)
    yield _taken(part)


def _taken(part: io.StringIO) -> str:
    text = part.getvalue()
    part.seek(0)
    part.truncate()
    return text


def _cells(row: tuple[Any, ...]) -> list[Any]:
    at, *others = row
    return [at.isoformat(timespec="seconds"), *(escape(cell) if isinstance(cell, str) else cell for cell in others)]
