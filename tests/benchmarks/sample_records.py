"""Sample pets and entries of the audit for measurements, with realistic values, the same in every run."""

import csv
import json
import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from uuid import UUID

from django.db import connection, transaction

from pets import creator
from pets.models import Pet
from petservice.db.folding import fold
from petservice.journal.models import Event
from tests.service import as_django_stores_it

_SYLLABLES = [consonant + vowel for consonant in "bklmnr" for vowel in "aeiou"]
_CYRILLIC = [consonant + vowel for consonant in "бвгдклмнрст" for vowel in "аоу"]
_TAGS = 5000
_DAYS = 60
# Number of rows in one statement, well below the timeout of a statement.
_BATCH = 50_000
COLUMNS = ("id", "name", "tag", "status", "created_at", "created_by")
_AUDIT_DAYS = 700
_COLUMNS = ("id", "at", "kind", "account_name", "address", "record_type", "count", "message", "permissions")
_ITEM_COLUMNS = ("event_id", "record_id", "record_name", "message")
_TRASH_COLUMNS = ("event_id", "record_id", "record_name", "before", "message", "in_trash_until", "folded_name")


def write_csv(file: Path, number: int) -> None:
    """Write a file of so many pets for `import_pets`."""
    with file.open("w", newline="") as target:
        writer = csv.writer(target)
        writer.writerow(COLUMNS)
        writer.writerows(rows(number))


def insert(table: str, columns: Sequence[str], rows: Iterator[tuple[object, ...]]) -> None:
    """Insert rows in one transaction by the fastest means of the driver."""
    names = ", ".join(columns)
    with transaction.atomic(), connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            while batch := list(islice(rows, _BATCH)):
                with cursor.copy(f"COPY {table} ({names}) FROM STDIN") as copy:
                    for row in batch:
                        copy.write_row(row)
        else:
            # The driver's executemany, because Django's would record each statement.
            marks = ", ".join("?" * len(columns))
            connection.connection.executemany(
                f"INSERT INTO {table} ({names}) VALUES ({marks})",
                ([as_django_stores_it(value) for value in row] for row in rows),
            )


def rows(number: int) -> Iterator[tuple[object, ...]]:
    """Yield the values of the COLUMNS of each pet.

    The pets are unkind to lists: nine of ten names have the word Rex, no pet with the tag Old is available, a third of
    the others have the tag Dog, and few have the tag Bird.
    """
    choose, now = random.Random(1), datetime.now(UTC)
    for position in range(number):
        created_at = now - timedelta(days=_DAYS) * (1 - position / number)
        syllables = _CYRILLIC if choose.random() < 0.1 else _SYLLABLES
        name = "".join(choose.choices(syllables, k=choose.randrange(2, 5))).capitalize()
        name += f"{' Rex' if position % 10 else ''} of {choose.choice(_SYLLABLES)}"
        tag = f"Tag {int(choose.paretovariate(0.5)) % _TAGS}" if choose.random() < 0.8 else None
        status = choose.choices(Pet.Status.values, (70, 10, 20))[0]
        # The oldest three of ten have the tag, and the newest six of ten have the status.
        if position < 0.3 * number:
            tag = "Old"
        elif choose.random() < 0.35:
            tag = "Dog" if choose.random() < 0.999 else "Bird"
        if position < 0.4 * number and status == Pet.Status.AVAILABLE:
            status = Pet.Status.SOLD
        yield _id(created_at, choose), name, tag, status, created_at, creator.of_key("pets_test_Ab12Cd34", "Acme")


def _id(created_at: datetime, choose: random.Random) -> str:
    """Return a UUIDv7 with the time `created_at` (RFC 9562, 5.7)."""
    value = int(created_at.timestamp() * 1000) << 80 | choose.getrandbits(80)
    value = value & ~(0xF << 76) & ~(0x3 << 62) | 7 << 76 | 2 << 62
    return str(UUID(int=value))


def fill_audit(number: int) -> None:
    """Insert `number` entries. Most are changes of pets by two accounts; other combinations are rare or missing."""
    insert("journal_event", _COLUMNS, _events(number))
    insert("journal_item", _ITEM_COLUMNS, _items(number))
    insert("journal_item", _TRASH_COLUMNS, _deleted_pets(number // 12))


def _events(number: int) -> Iterator[tuple[int, datetime, str, str, str, str, int, str, str]]:
    now, kinds = datetime.now(UTC), Event.Kind
    for position in range(number):
        at = now - timedelta(days=_AUDIT_DAYS) * (1 - position / number)
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


def _deleted_pets(number: int) -> Iterator[tuple[object, ...]]:
    """Yield the pets in the trash: a month's part of the events of a year, if all were deletions."""
    now = datetime.now(UTC)
    for position, (pk, name, tag, status, created_at, created_by) in enumerate(rows(number)):
        values = {"name": name, "tag": tag, "status": status, "created_by": created_by}
        before = json.dumps(values | {"created_at": f"{created_at:%Y-%m-%dT%H:%M:%SZ}"})
        yield position * 10 + 1001, str(pk), str(name), before, "", now + timedelta(days=30), fold(str(name))
