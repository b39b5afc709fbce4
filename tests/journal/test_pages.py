"""The audit shows entries to administrators, filtered and in order, and pages that change records write them."""

import os
import pwd
import re
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from pets.models import Pet
from petservice.accounts.groups import PETS_AND_INVENTORY
from petservice.journal.models import Event, Item
from petservice.journal.record_pages import JournalPages
from petservice.journal.recording import add_event, type_of
from tests.backoffice.clock import Clock
from tests.backoffice.pages import csv_rows, messages
from tests.backoffice.staff import staff
from tests.journal.events import create_event
from tests.pets.changes import mark

# The list model and the query plans have the filters on both databases.
pytestmark = [pytest.mark.django_db, pytest.mark.once(on="postgresql")]

AUDIT = reverse("admin:journal_event_changelist")
EXPORT = reverse("admin:journal_event_export")
Kind = Event.Kind


@pytest.fixture
def entries() -> list[Event]:
    """Return entries of two people, from the oldest to the newest."""
    Event.objects.all().delete()  # the login of the test client
    ada, bea, pet = {"account_name": "ada"}, {"account_name": "bea"}, {"record_type": "pets.pet"}
    rows: list[dict[str, Any]] = [
        ada | {"kind": Kind.LOGIN, "address": "192.0.2.7"},
        ada | pet | {"kind": Kind.CHANGED, "record_id": "7", "record_name": "Rex"},
        bea | {"kind": Kind.CHANGED, "record_type": "auth.user", "record_id": "7", "message": "=1+1"},
        bea | pet | {"kind": Kind.CHANGED, "record_id": "8", "count": 934},
    ]
    return [create_event(at=datetime(2026, 11, 21 + day, tzinfo=UTC), **row) for day, row in enumerate(rows)]


@pytest.mark.usefixtures("entries")
def test_an_invalid_filter_shows_what_to_correct_and_no_entries(admin_client: Client) -> None:
    for query, message in (
        ({"day_from": "yesterday"}, "Write a day as year-month-day"),
        ({"day_from": "2026-11-23", "day_to": "2026-11-22"}, "Exchange the two days."),
        ({"kind": "hacked"}, "hacked is not one of the available choices"),
        ({"person": "\0"}, "Null characters are not allowed."),
    ):
        response = admin_client.get(AUDIT, query)

        assert message in response.content.decode()
        assert '<p class="printed">An invalid filter' in response.content.decode()
        assert not response.context["page"].object_list, query
        exported = admin_client.post(f"{EXPORT}?{urlencode(query)}", follow=True)
        (message,) = messages(exported)
        assert message.startswith("Nothing was exported: correct the filters")
        assert exported.context["form"].errors == response.context["form"].errors


def test_a_row_shows_who_what_when_and_from_where(admin_client: Client, entries: list[Event]) -> None:
    page = admin_client.get(AUDIT).content.decode()

    for text in ("2026-11-21 00:00:00", "Login", "192.0.2.7", "pet <bdi>Rex</bdi>", "934", "4 events"):
        assert text in page
    assert "?record_type=pets.pet&amp;record_id=7" in page


def test_the_export_contains_the_filtered_entries_without_formulas_and_is_recorded(
    admin_client: Client, entries: list[Event]
) -> None:
    page = admin_client.get(AUDIT, {"kind": "changed", "person": "bea"}).content.decode()
    (url,) = re.findall('<form method="post" action="([^"]+)" id="audit-export">', page)
    (name,) = re.findall('<button name="([^"]+)" [^>]+>Export these events', page)

    asked = Client().post(unescape(url), {"csrfmiddlewaretoken": "x", name: "yes"}).content.decode()
    assert "Log in with the same account, and you can send your form again." in asked
    after = admin_client.get(unescape(url))
    assert after["Location"] == f"{AUDIT}?kind=changed&person=bea"

    rows = csv_rows(admin_client.post(unescape(url)))
    assert [(row["person"], row["number"], row["message"]) for row in rows] == [
        ("bea", "934", ""),
        ("bea", "1", "'=1+1"),
    ]
    assert rows[0]["time"] == "2026-11-24T00:00:00+00:00"
    entry = Event.objects.latest("pk")
    assert (entry.kind, entry.account_name, entry.count, entry.record_type) == (
        "exported",
        "admin",
        2,
        "journal.event",
    )
    assert entry.message == "Audit exported as CSV. Filter: Person “bea”, Kind “Changed”."


def test_an_export_of_too_many_entries_says_what_to_do(
    admin_client: Client, entries: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("petservice.journal.admin.MAX_EXPORTED", 3)

    response = admin_client.post(f"{EXPORT}?person=", follow=True)

    assert messages(response) == ["Nothing was exported: correct the filters, and choose days with at most 3 events."]
    assert not Event.objects.filter(kind=Kind.EXPORTED).exists()


def test_the_history_of_a_record_links_superusers_to_its_audit(admin_client: Client) -> None:
    pet = Pet.objects.create(name="Rex")
    link = f"{AUDIT}?record_type=pets.pet&amp;record_id={pet.pk}"

    url = reverse("admin:pets_pet_history", args=[pet.pk])
    assert link in admin_client.get(url).content.decode()
    assert link not in staff(PETS_AND_INVENTORY).get(url).content.decode()


def test_what_a_colleague_sold_yesterday_is_two_clicks_away_and_leads_to_the_pets(
    admin_client: Client, admin_user: User, clock: Clock
) -> None:
    yesterday = clock.now - timedelta(days=1)
    ada = User.objects.create_user("ada")
    rex, tom, max_ = (Pet.objects.create(name=name) for name in ("Rex", "Tom", "Max"))
    sold = mark(ada, [rex, tom], "sold", kind=Kind.SOLD, now=yesterday)
    mark(ada, [max_], "sold", now=yesterday)
    mark(admin_user, [max_], "sold", kind=Kind.SOLD, now=yesterday)

    first = links(admin_client.get(AUDIT))["ada"]
    second = links(admin_client.get(AUDIT + first))["Sold yesterday"]
    page = admin_client.get(AUDIT + second)

    assert list(page.context["page"]) == [sold]
    pets = admin_client.get(reverse("admin:journal_event_change", args=[sold.pk])).content.decode()
    assert re.findall(r"<bdi>(\w+)</bdi></a></th>", pets) == ["Rex", "Tom"]
    assert pets.count("Status changed from available to sold.") == 2


def links(response: Any) -> dict[str, str]:
    """Return the queries of the links in the audit, by their texts."""
    return {
        text: unescape(query)
        for query, text in re.findall(
            r'<a href="(\?[^"]*)">(?:<bdi>)?([^<]+)(?:</bdi>)?</a>', response.content.decode()
        )
    }


# What is recorded.


def test_a_system_user_without_a_name_is_recorded_by_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 2_000_000_001)
    with pytest.raises(KeyError):
        pwd.getpwuid(os.getuid())

    entry = add_event(None, Event.Kind.EXPORTED, target=Pet)

    assert entry.message == "Run by the operating system user 2000000001."


def test_every_page_that_changes_records_has_the_part_that_writes_the_journal() -> None:
    read_only = {"journal.event", "pets.recentchange", "pets.trashedpet"}

    others = {
        model._meta.label_lower for model, pages in admin.site._registry.items() if not isinstance(pages, JournalPages)
    }

    assert others == read_only
    types = {type_of(model) for model in admin.site._registry} - {type_of(Item)}  # the trash
    assert types == {*Event.RecordType.values}
