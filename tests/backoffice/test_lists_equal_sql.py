"""The lists of API keys, staff accounts and the audit equal a plain model, for many combinations of parameters."""

import random
from collections.abc import Callable, Iterable
from datetime import date, datetime, timedelta
from itertools import product
from operator import attrgetter
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from axes.models import AccessAttempt
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from petservice.admin_pages.bounded_paginator import MoreThan
from petservice.apikeys.models import APIKey
from petservice.configuration.time_zone import zone
from tests.backoffice import unkind_records
from tests.backoffice.clock import Clock
from tests.backoffice.pages import csv_rows
from tests.backoffice.unkind_records import DAY
from tests.pets.admin.list_model import difference, ordered, plain
from tests.pets.admin.pet_pages import listed

ZONE = "Africa/Cairo"
SEARCHES = (
    *("", "acme", "SHOP acme", "strasse", "straße", "zołw", "ŻÓŁW", "барс", "rex", "明", "nothing"),
    *("50% o", "_", "\\", "(a.c"),
)
KEYS, ACCOUNTS, AUDIT = (
    reverse(f"admin:{one}_changelist") for one in ("apikeys_apikey", "accounts_account", "journal_event")
)
Query = dict[str, str]


def contains_each_word(search: str, texts: Iterable[str]) -> bool:
    """Return whether one of the texts has the word, for each word of a search."""
    own = [plain(text) for text in texts]
    return all(any(word in text for text in own) for word in plain(search).split())


def assert_equal(client: Client, url: str, queries: Iterable[Query], expected: Callable[[Query], list[Any]]) -> None:
    """Check for each query that a list counts and has the expected rows, on all its pages, without its HTML."""
    wrong = []
    for query in queries:
        found, ids = listed(client, url, **query), expected(query)
        wrong += difference(query, (found.result_count, [row.pk for row in found.queryset]), (len(ids), ids))
    assert not wrong, "\n".join(wrong)


def state_of(key: APIKey, now: datetime) -> str:
    """Return the state of a key, as the guide describes the states."""
    if key.revoked_at:
        return "revoked"
    if key.replaced_by_id:
        return "replaced"
    if key.expires_at and key.expires_at <= now:
        return "expired"
    if key.environment != "test":
        return "other"
    return "soon" if key.expires_at and key.expires_at <= now + 14 * DAY else "active"


def use_of(key: APIKey, now: datetime) -> str:
    if state_of(key, now) not in ("active", "soon"):
        return ""
    if key.last_used_at is None:
        return "never" if key.created_at < now - 7 * DAY else ""
    return "idle" if key.last_used_at < now - 90 * DAY else ""


@pytest.mark.long
def test_every_combination_lists_the_right_keys(admin_client: Client, clock: Clock) -> None:
    keys = {key.pk: key for key in unkind_records.create_keys(clock.now)}
    # The columns of the list that can be sorted, by their numbers.
    columns = {"0": "name", "3": "created_at", "4": "expires_at", "5": "last_used_at"}
    orders = {"": ordered("apikeys_apikey", "created_at DESC, id DESC")}
    for number, column in columns.items():
        orders[number] = ordered("apikeys_apikey", f"{column}, id DESC")
        orders[f"-{number}"] = ordered("apikeys_apikey", f"{column} DESC, id DESC")
    choose = random.Random(2)
    searches = (*SEARCHES, keys[min(keys)].prefix, keys[max(keys)].prefix + "A" * 37)
    states, uses = ("", *APIKey.State.values), ("", "never", "idle")
    queries = [
        {
            **{"q": search, "state": state, "use": use, "o": choose.choice([*orders])},
            **choose.choice(({}, {}, {"environment__exact": "test"}, {"access__exact": "read"})),
        }
        for search, state, use in (
            *product([""], states, uses),
            *((search, state, choose.choice(uses)) for search, state in product(searches, states)),
        )
    ]
    queries = [{name: value for name, value in query.items() if value} for query in queries]

    def fits(key: APIKey, query: Query) -> bool:
        search = query.get("q", "")
        is_found = key.prefix == search[:18] if search.startswith("pets_") else contains_each_word(search, [key.name])
        return is_found and all(
            query.get(name, own) == own
            for name, own in {
                "state": state_of(key, clock.now),
                "use": use_of(key, clock.now),
                "environment__exact": key.environment,
                "access__exact": key.access,
            }.items()
        )

    assert_equal(
        admin_client, KEYS, queries, lambda query: [pk for pk in orders[query.get("o", "")] if fits(keys[pk], query)]
    )


@pytest.mark.long
def test_every_combination_lists_the_right_accounts(admin_client: Client, clock: Clock) -> None:
    accounts = {account.pk: account for account in unkind_records.create_accounts(clock.now)}
    locked = {
        attempt.username
        for attempt in AccessAttempt.objects.all()
        if attempt.failures_since_start >= 5 and attempt.attempt_time > clock.now - timedelta(minutes=15)
    }
    by_name = ordered("auth_user", "username, id DESC")

    def state(account: User) -> str:
        if not account.is_active:
            return "deactivated"
        if not account.is_staff:
            return "other"
        if account.username in locked:
            return "locked"
        return "active" if account.has_usable_password() and account.password else "invited"

    def expected(query: Query) -> list[int]:
        return [
            pk
            for pk in by_name
            if query.get("state") in (None, state(account := accounts[pk]))
            and contains_each_word(query.get("q", ""), [account.username, account.first_name, account.last_name])
        ]

    states = ("", "active", "invited", "locked", "deactivated", "other")
    queries = [
        {name: value for name, value in (("q", search), ("state", one)) if value}
        for search, one in product((*SEARCHES, "ada", "ŻANETA", "ЖАННА strasse"), states)
    ]

    assert_equal(admin_client, ACCOUNTS, queries, expected)


@pytest.mark.long
def test_many_combinations_of_filters_and_page_list_and_export_the_right_entries(
    admin_client: Client, settings: Any
) -> None:
    settings.STORE_TIME_ZONE = zone(ZONE)
    choose = random.Random(4)
    days: tuple[Query, ...] = (
        *({}, {"day_from": "2026-10-30"}, {"day_to": "2026-10-29"}, {"day_to": "9999-12-31"}),
        *({"day_from": day, "day_to": day} for day in ("2026-04-24", "2026-10-29", "2026-10-30")),
    )
    values = product(("", "ada", "bea"), ("", "changed", "deleted"), ("", "pets.pet", "auth.user"), ("", "1"), days)
    names = ("person", "kind", "record_type", "record_id")
    queries = [{**dict(zip(names, others, strict=True)), **period} for *others, period in values]
    paged = [query | {"p": choose.choice(("", "2", "101", "999"))} for query in queries]
    queries = [{name: value for name, value in query.items() if value} for query in paged]
    # More than the list counts.
    entries = sorted(unkind_records.create_entries(10_100), key=attrgetter("at", "pk"), reverse=True)
    texts = {
        entry.pk: f"{entry.at.isoformat(timespec='seconds')} {entry.record_type} {entry.record_id}" for entry in entries
    }
    own, wrong = {*texts.values()}, []
    for query in random.Random(3).sample(queries, 40):
        first, last = query.get("day_from", "0001-01-01"), query.get("day_to", "9999-12-31")
        ids = [
            entry.pk
            for entry in entries
            if query.get("person") in (None, entry.account_name)
            and query.get("kind") in (None, entry.kind)
            and query.get("record_type") in (None, entry.record_type)
            and query.get("record_id") in (None, entry.record_id)
            and date.fromisoformat(first) <= entry.at.astimezone(ZoneInfo(ZONE)).date() <= date.fromisoformat(last)
        ]
        page = admin_client.get(AUDIT, query).context["page"]
        count = page.paginator.count
        found = count + isinstance(count, MoreThan), [entry.pk for entry in page]
        last = max(1, min(-(-len(ids) // 100), 100))
        start = 100 * (min(int(query.get("p", "1")), last) - 1)
        wrong += difference(query, found, (min(len(ids), 10_001), ids[start : start + 100]))
        if len(ids) < 1000:
            rows = csv_rows(admin_client.post(f"{AUDIT}export/", query_params=query))
            found_texts = [f"{row['time']} {row['record type']} {row['record ID']}" for row in rows]
            exported = [text for text in found_texts if text in own]  # earlier exports are entries, too
            wrong += difference(query, ("exported", exported), ("exported", [texts[pk] for pk in ids]))

    assert not wrong, "\n".join(wrong)
