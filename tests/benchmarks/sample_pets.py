"""Sample pets for measurements, with realistic names, tags, statuses and dates, the same in every run."""

import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from uuid import UUID

from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection, transaction

from pets import creator
from pets.models import Pet
from petservice.journal.models import Event, Item
from tests.service import as_django_stores_it

_SYLLABLES = [consonant + vowel for consonant in "bklmnr" for vowel in "aeiou"]
_CYRILLIC = [consonant + vowel for consonant in "бвгдклмнрст" for vowel in "аоу"]
_TAGS = 5000
_DAYS = 60
# Number of rows in one statement, well below the timeout of a statement.
_BATCH = 50_000
COLUMNS = ("id", "name", "tag", "status", "created_at", "sold_at", "created_through")


def fill(number: int, second_word: str = "") -> User:
    """Migrate an empty database, insert `number` pets with a history entry for every tenth, and return a superuser.

    With a second word, nine of ten names have it, and the pets are unkind to lists. No pet with the tag Old is
    available. A third of the others have the tag Dog, and few have the tag Bird.
    """
    now = datetime.now(UTC)
    call_command("migrate", verbosity=0)
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("PRAGMA cache_size = -1000000")  # in KiB, because the inserts change all parts of indexes
        else:
            cursor.execute("SET statement_timeout = 0")  # until the end, because a slow machine needs more than that
    insert("pets_pet", COLUMNS, rows(number, now, second_word))
    user = User.objects.create_superuser("staff", password="a long one")
    event = Event.objects.create(kind=Event.Kind.CHANGED, record_type="pets.pet", message="Tag changed.")
    ids = Pet.objects.order_by("pk").values_list("pk", flat=True)[: number // 10]
    Item.objects.bulk_create((Item(event=event, record_id=pk, record_name="Rex") for pk in ids.iterator()), 1000)
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":  # its autovacuum would do this later
            cursor.execute("VACUUM ANALYZE")
            cursor.execute("RESET statement_timeout")
    return user


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


def rows(number: int, now: datetime, second_word: str) -> Iterator[tuple[object, ...]]:
    """Yield the values of the COLUMNS of each pet."""
    choose = random.Random(1)
    for position in range(number):
        created_at = now - timedelta(days=_DAYS) * (1 - position / number)
        syllables = _CYRILLIC if choose.random() < 0.1 else _SYLLABLES
        name = "".join(choose.choices(syllables, k=choose.randrange(2, 5))).capitalize()
        tag = f"Tag {int(choose.paretovariate(0.5)) % _TAGS}" if choose.random() < 0.8 else None
        status = choose.choices(Pet.Status.values, (70, 10, 20))[0]
        if second_word:
            if position % 10:
                name = f"{name} {second_word}"
            name += f" of {choose.choice(_SYLLABLES)}"
            # The oldest three of ten have the tag, and the newest six of ten have the status.
            if position < 0.3 * number:
                tag = "Old"
            elif choose.random() < 0.35:
                tag = "Dog" if choose.random() < 0.999 else "Bird"
            if position < 0.4 * number and status == Pet.Status.AVAILABLE:
                status = Pet.Status.SOLD
        sold_at = created_at + choose.random() * (now - created_at) if status == Pet.Status.SOLD else None
        key = creator.of_key("pets_test_Ab12Cd34", "Acme")
        yield _id(created_at, choose), name, tag, status, created_at, sold_at, key


def _id(created_at: datetime, choose: random.Random) -> str:
    """Return a UUIDv7 with the time `created_at` (RFC 9562, 5.7)."""
    value = int(created_at.timestamp() * 1000) << 80 | choose.getrandbits(80)
    value = value & ~(0xF << 76) & ~(0x3 << 62) | 7 << 76 | 2 << 62
    return str(UUID(int=value))
