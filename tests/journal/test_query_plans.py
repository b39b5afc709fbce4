"""Query plans of the audit: each combination of filters searches one index by all of its equal values."""

import itertools
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models import QuerySet
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from petservice.admin_pages.bounded_paginator import MAX_COUNTED
from petservice.journal import retention
from petservice.journal.event_filters import EventFilterForm
from petservice.journal.models import Event, Item
from tests.query_plans import plan_of

pytestmark = pytest.mark.django_db

FILTERS = {"person": "ada", "kind": "changed", "record_type": "pets.pet", "day_from": "2026-11-01", "record_id": "7"}


def analyze() -> None:
    """Let PostgreSQL, which plans by the statistics of its tables, use the indexes of small ones."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE journal_event, journal_item")
            cursor.execute("SET LOCAL enable_seqscan = off")


def filtered(names: tuple[str, ...]) -> QuerySet[Event]:
    form = EventFilterForm({name: FILTERS[name] for name in names})
    assert form.is_valid()
    return form.events()


def is_good(names: tuple[str, ...], plan: str) -> bool:
    if "record_id" in names:  # reads all entries of one record
        return "journal_event_pkey" in plan or "INTEGER PRIMARY KEY" in plan
    columns = {"person": "account_name", "kind": "kind", "record_type": "record_type", "day_from": "at"}
    searched = all(re.search(rf"\b{columns[name]}\b(\)::text)? ?[=>]", plan) for name in names)
    # PostgreSQL may sort the few entries that pass, but reads no others.
    return searched and not re.search(r"Filter|Seq Scan|TEMP B-TREE|SCAN journal_event(?! USING)", plan)


def test_a_page_counts_and_reads_only_entries_that_pass(admin_client: Client) -> None:
    # Of these, one passes all filters, and some pass the others.
    rows = [
        {
            "account_name": "ada" if n % 5 == 2 else f"{n % 5}",
            "kind": "changed" if n % 7 == 0 else f"{n % 7}",
            "record_type": "pets.pet" if n % 9 == 7 else f"{n % 9}",
        }
        for n in range(3000)
    ]
    at = datetime(2026, 11, 2, tzinfo=UTC)
    events = Event.objects.bulk_create(Event(at=at + timedelta(seconds=n), **row) for n, row in enumerate(rows))
    Item.objects.bulk_create(Item(event=event, record_id=f"{n}", record_name="Rex") for n, event in enumerate(events))
    Item.objects.bulk_create(Item(event=event, record_id="7") for event in events[:5])  # of others than the filters
    analyze()
    plans = {}
    for number in range(len(FILTERS) + 1):
        for names in itertools.combinations(FILTERS, number):
            plans[names, "page"] = filtered(names)[:100].explain()
            plans[names, "count"] = filtered(names).order_by()[: MAX_COUNTED + 1].values("pk").explain()

    assert {key: plan for key, plan in plans.items() if not is_good(key[0], plan)} == {}

    with CaptureQueriesContext(connection) as captured:
        response = admin_client.get(reverse("admin:journal_event_changelist"), FILTERS)

    assert [event.record_id for event in response.context["events"]] == ["7"]
    queries: list[Any] = [query["sql"] for query in captured if 'FROM "journal_event"' in query["sql"]]
    assert f"LIMIT {MAX_COUNTED + 1}" in queries[0]
    assert "LIMIT 1" in queries[1]


def test_a_login_reads_no_old_changes_of_records_to_remove_old_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "MAX_REMOVED", 1)
    Event.objects.bulk_create(Event(kind="changed", at=datetime(2020, 1, 1, tzinfo=UTC)) for _ in range(3000))
    Event.objects.bulk_create(Event(kind="login", at=timezone.now()) for _ in range(300))
    analyze()

    with CaptureQueriesContext(connection) as captured:
        retention.remove_old_events()

    plans = [plan_of(query["sql"]) for query in captured]
    assert len(plans) == 2
    assert [plan for plan in plans if not re.search(r"journal_(kind|address)\b", plan)] == []
    assert [plan for plan in plans if "TEMP B-TREE" in plan or "Sort" in plan] == []


def reads_the_items_of_one_event(plan: str) -> bool:
    lines = plan.splitlines()
    following = zip(lines, [*lines[1:], ""], strict=True)
    conditions = [condition for line, condition in following if re.search("(on|SCAN) journal_item", line)]
    return "journal_item_event_id" in plan and all("Cond: " in condition for condition in conditions)


def test_the_record_and_the_page_of_an_event_read_its_own_items(admin_client: Client) -> None:
    # Of two records, after imports of many records, after which PostgreSQL expects many of each.
    imports = Event.objects.bulk_create(Event(kind="imported", count=4000) for _ in range(5))
    Item.objects.bulk_create(Item(event=event, record_id=f"{n}") for event in imports for n in range(4000))
    sale = Event.objects.create(kind="sold", record_type="pets.pet")
    Item.objects.create(event=sale, record_id="7", record_name="Rex")
    Item.objects.create(event=sale, record_id="1", record_name="Ada")
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE journal_event, journal_item")

    events = Event.objects.filter(pk__in=[sale.pk - 1, sale.pk]).with_record()
    assert [(event.record_id, event.record_name) for event in events] == [("7", "Rex"), (None, None)]
    assert reads_the_items_of_one_event(events.explain())

    with CaptureQueriesContext(connection) as captured:
        response = admin_client.get(reverse("admin:journal_event_change", args=[sale.pk - 1]))

    assert [item.record_id for item in response.context["page"]] == [f"{n}" for n in range(100)]
    plans = [plan_of(query["sql"]) for query in captured if 'FROM "journal_item"' in query["sql"]]
    assert len(plans) == 2  # the count and the page
    assert [plan for plan in plans if not reads_the_items_of_one_event(plan)] == []
