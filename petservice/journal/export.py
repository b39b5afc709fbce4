"""The export of the audit as a CSV file."""

from collections.abc import Generator, Iterator
from typing import Any

from django.db.models import QuerySet

from petservice.exports.csv_files import BYTE_ORDER_MARK, escape, parts
from petservice.journal.models import Event

_COLUMNS = ("at", "kind", "account_name", "address", "record_type", "record_id", "record_name", "count", "message")
_HEADER = ("time", "kind", "person", "address", "record type", "record ID", "record", "number", "message")
# Number of rows that the database sends together.
_BATCH = 2000


class CSVExport:
    """An export of events, which counts them."""

    def __init__(self, events: QuerySet[Event]) -> None:
        self._events = events
        self.count = 0

    def parts(self) -> Generator[bytes]:
        """Yield the parts of the file. Read them all in one consistent read of the database."""
        yield BYTE_ORDER_MARK
        yield from parts(_HEADER, self._rows())

    def _rows(self) -> Iterator[list[Any]]:
        for at, *others in Event.with_record(self._events).values_list(*_COLUMNS).iterator(chunk_size=_BATCH):
            cells = [escape(cell) if isinstance(cell, str) else cell for cell in others]
            yield [at.isoformat(timespec="seconds"), *cells]
            self.count += 1
