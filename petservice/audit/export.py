"""The export of the audit as a CSV file."""

import csv
import io
from collections.abc import Generator
from typing import Any

from django.db.models import QuerySet

from petservice.audit.models import AuditEntry
from petservice.exports.csv_formulas import escape

_COLUMNS = ("at", "kind", "account_name", "address", "record_type", "record_id", "record_name", "count", "message")
_HEADER = ("time", "kind", "person", "address", "record type", "record ID", "record", "number", "message")
# Number of rows that the database sends together.
_BATCH = 2000
# Spreadsheets recognize UTF-8 by this mark.
_BYTE_ORDER_MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"


class CSVExport:
    """An export of entries, which counts them."""

    def __init__(self, entries: QuerySet[AuditEntry]) -> None:
        self._entries = entries
        self.count = 0

    def parts(self) -> Generator[bytes]:
        """Yield the parts of the file. Read them all in one consistent read of the database."""
        part = io.StringIO(newline="")
        writer = csv.writer(part)
        part.write(_BYTE_ORDER_MARK)
        writer.writerow(_HEADER)
        for row in self._entries.values_list(*_COLUMNS).iterator(chunk_size=_BATCH):
            writer.writerow(_cells(row))
            self.count += 1
            if self.count % _BATCH == 0:
                yield _taken(part)
        yield _taken(part)


def _taken(part: io.StringIO) -> bytes:
    text = part.getvalue()
    part.seek(0)
    part.truncate()
    return text.encode()


def _cells(row: tuple[Any, ...]) -> list[Any]:
    at, *others = row
    return [at.isoformat(timespec="seconds"), *(escape(cell) if isinstance(cell, str) else cell for cell in others)]
