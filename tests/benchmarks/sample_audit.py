"""Sample entries of the audit for measurements, the same in every run."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from petservice.journal.models import Event
from tests.benchmarks.sample_pets import insert

_DAYS = 700
_COLUMNS = ("id", "at", "kind", "account_name", "address", "record_type", "count", "message", "permissions")
_ITEM_COLUMNS = ("event_id", "record_id", "record_name", "message")


def fill_audit(number: int) -> None:
    """Insert `number` entries. Most are changes of pets by two accounts; other combinations are rare or missing."""
    insert("journal_event", _COLUMNS, _events(number))
    insert("journal_item", _ITEM_COLUMNS, _items(number))


def _events(number: int) -> Iterator[tuple[int, datetime, str, str, str, str, int, str, str]]:
    now, kinds = datetime.now(UTC), Event.Kind
    for position in range(number):
        at = now - timedelta(days=_DAYS) * (1 - position / number)
        kind, record_type = kinds.CHANGED, "pets.pet"
        if position % 10 == 0:
            kind, record_type = kinds.LOGIN, ""
        elif position % 1000 == 1:
            kind, record_type = kinds.KEY_ROTATED, "apikeys.apikey"
        person = ("ada", "bea")[position % 2]
        text = "Status changed from available to sold."
        # The first numbers are left to the login of the benchmark.
        yield position + 1000, at, kind, person, "192.0.2.7", record_type, 1, text, ""


def _items(number: int) -> Iterator[tuple[int, str, str, str]]:
    for position in range(number):
        if position % 10:
            yield position + 1000, f"{position % (number // 4):032x}", "Rex", ""
