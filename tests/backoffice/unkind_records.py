"""API keys, staff accounts and audit entries that are unkind to lists, with many combinations of their values."""

import random
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

from axes.models import AccessAttempt
from django.contrib.auth.models import User

from petservice.apikeys.models import APIKey
from petservice.journal.models import Event, Item

NAMES = (
    *("Acme", "ACME shop", "acme.example", "Große Straße", "STRASSE", "Żółw", "ŻÓŁW Łoś", "Барсик", "БАРСИК shop"),
    *("Ｒｅｘ", "50% off_", "O'Neil (a.c)", "back\\slash", "小明的狗", " blank "),
)
DAY, MICROSECOND = timedelta(days=1), timedelta(microseconds=1)


def create_keys(now: datetime) -> list[APIKey]:
    """Create keys in all states, some of which are at their very ends, and return them."""
    choose = random.Random(5)
    expiries = (None, now - DAY, now, now + MICROSECOND, now + 14 * DAY, now + 14 * DAY + MICROSECOND, now + 90 * DAY)
    uses = (None, now - DAY, now - 90 * DAY, now - 90 * DAY - MICROSECOND)
    creations = (now - DAY, now - 7 * DAY, now - 7 * DAY - MICROSECOND, now - 200 * DAY)
    made = []
    for number, (expiry, used, created) in enumerate(product(expiries, uses, creations)):
        fields: dict[str, Any] = {
            "expires_at": expiry,
            "last_used_at": used,
            "created_at": created,
            "access": choose.choice(("read", "write")),
            "environment": choose.choice(("test", "test", "live")),
            "revoked_at": choose.choice((None, None, None, now - DAY)),
            "replaced_by": choose.choice((None, None, None, *made[-1:])),
        }
        if fields["replaced_by"] and any(one.replaced_by_id == fields["replaced_by"].pk for one in made):
            fields["replaced_by"] = None
        made.append(APIKey.objects.create_key(name=NAMES[number % len(NAMES)], **fields)[0])
    return made


def create_accounts(now: datetime) -> list[User]:
    """Create accounts in all states, and return them."""
    choose = random.Random(5)
    accounts = []
    for number, (name, password) in enumerate(product(NAMES, ("", "!x", "md5$a$b", "md5$a$b", "md5$a$b"))):
        account = User(
            username=f"{name.replace(' ', '_').replace('%', '')}.{number}",
            first_name=choose.choice(("Ada", "ada lovelace", "Żaneta", "жанна", "")),
            last_name=choose.choice(("Straße", "STRASSE", "O'Neil", "")),
            password=password,
            is_active=choose.random() < 0.8,
            is_staff=choose.random() < 0.8,
        )
        accounts.append(account)
    User.objects.bulk_create(accounts)
    for account in accounts[::3]:
        AccessAttempt.objects.create(
            username=account.username,
            ip_address="192.0.2.1",
            failures_since_start=choose.choice((4, 5)),
        )
        minutes = choose.choice((1, 14, 16))
        AccessAttempt.objects.filter(username=account.username).update(attempt_time=now - timedelta(minutes=minutes))
    return list(User.objects.all())


def create_entries(number: int) -> list[Event]:
    """Create entries of the audit with many equal times, and return them."""
    choose = random.Random(5)
    midnight = datetime(2026, 10, 29, 21, 59, 59, 999_999, tzinfo=UTC)
    times = [midnight + step * timedelta(hours=1) for step in range(-3, 3)]
    times += [time + MICROSECOND for time in times] + [datetime(2026, 4, 23, 22, tzinfo=UTC)]
    events = Event.objects.bulk_create(
        Event(
            at=choose.choice(times),
            kind=choose.choices(("changed", "login", "deleted"), (90, 9, 1))[0],
            account_name=choose.choices(("ada", "Ada", "bea", "command", ""), (90, 3, 3, 3, 1))[0],
            record_type=choose.choice(("pets.pet", "auth.user", "apikeys.apikey", "")),
        )
        for _ in range(number)
    )
    ids = [str(choose.choice((1, 2, choose.randrange(1000)))) for _ in events]
    Item.objects.bulk_create(Item(event=event, record_id=pk) for event, pk in zip(events, ids, strict=True))
    return list(Event.objects.with_record())
