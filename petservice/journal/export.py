"""The export of the audit as a CSV file."""

from collections.abc import Generator, Iterator
from typing import Any

from django.db.models import QuerySet

from petservice.admin_pages.csv_files import BYTE_ORDER_MARK, escape, parts
from petservice.journal.models import Event

_COLUMNS = ("at", "kind", "account_name", "address", "record_type", "record_id", "record_name", "count", "message")
_HEADER = ("time", "kind", "person", "address", "record type", "record ID", "record", "number", "message")
# Number of rows that the database sends together.
_BATCH = 2000


def csv_parts(events: QuerySet[Event]) -> Generator[bytes]:
    """Yield the parts of the file. Read them all in one consistent read of the database."""
    yield BYTE_ORDER_MARK
    yield from parts(_HEADER, _rows(events))


def _rows(events: QuerySet[Event]) -> Iterator[list[Any]]:
    for at, *others in Event.with_record(events).values_list(*_COLUMNS).iterator(chunk_size=_BATCH):
        yield [at.isoformat(timespec="seconds"), *(escape(cell) if isinstance(cell, str) else cell for cell in others)]
