"""The admin dashboard: its figures, its sections by permission, the last changes, and its number of queries."""

import re
from collections.abc import Collection
from datetime import UTC, datetime
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from pets.models import Pet
from petservice.accounts import groups
from petservice.apikeys.models import APIKey, KeyDay
from petservice.backoffice import dashboard, sales
from petservice.journal.models import Event
from petservice.journal.recording import type_of
from store.models import InventoryItem
from tests.backoffice.clock import Clock
from tests.backoffice.login import INDEX
from tests.backoffice.staff import granted, staff
from tests.backoffice.unkind_records import DAY, create_keys
from tests.journal.events import create_event
from tests.pets.changes import mark

pytestmark = pytest.mark.django_db

FIGURE = re.compile(
    r'<a href="([^"]+)">\s*<span class="label">([^<]+)</span>\s*<span class="figure">([\d,]+)</span>'
    r'(?:\s*<span class="percentage">([^<]+)</span>)?'
)


def page(client: Client) -> str:
    return client.get(INDEX).content.decode()


def log(kind: Event.Kind, records: Collection[Any], message: str = "") -> None:
    """Add an event about each record to the journal."""
    anna, _ = User.objects.get_or_create(username="anna")
    shared = {"kind": kind, "account": anna, "account_name": "anna", "message": message}
    for record in records:
        create_event(record_type=type_of(record), record_id=str(record.pk), record_name=str(record), **shared)


def test_each_figure_equals_the_list_that_it_links_to_and_statuses_have_percentages_and_bars(clock: Clock) -> None:
    for status, number in {"available": 1, "pending": 3, "sold": 0}.items():
        Pet.objects.bulk_create(Pet(name="Rex", status=status) for _ in range(number))
    create_keys(clock.now)
    client = staff(is_superuser=True)

    text = page(client)
    found = FIGURE.findall(text)

    assert {label: unescape(url).partition("?")[2] for url, label, *_ in found} == {
        **{status.label: f"status__exact={status}" for status in Pet.Status},
        "Expired": "state=expired",
        "Expire within 14 days": "state=soon",
        "Never used, created over 7 days ago": "state=active&use=never",
        "Not used for 90 days": "state=active&use=idle",
    }
    for url, label, count, _ in found:
        assert client.get(unescape(url)).context["cl"].result_count == int(count), label
        assert int(count) > 0 or label == "Sold", label
    assert [percentage for *_, percentage in found if percentage] == ["25%", "75%", "0%"]
    # The smallest count has a bar, and none has not.
    assert re.findall('<rect class="bar" width="([0-9]+)"', text) == ["259000", "753000"]


def test_keys_with_failed_or_rejected_requests_yesterday_come_first_of_all_the_worst_first(clock: Clock) -> None:
    client = granted("view_apikey", "view_pet", "view_inventoryitem")
    yesterday = clock.now.date() - DAY
    key, _ = APIKey.objects.create_key(name="Failed on other days", last_used_at=clock.now)
    for day in (yesterday - DAY, yesterday + DAY):
        KeyDay.objects.create(api_key=key, day=day, requests=9, server_errors=9)
    keys = {"Good": (9, 0, 0), "Rejected": (1234, 34, 0), "Failed": (7, 0, 1), "Both": (9, 5, 2)}
    for name, (requests, rejected, failed) in keys.items():
        key, _ = APIKey.objects.create_key(name=name, last_used_at=clock.now)
        numbers = {"requests": requests, "client_errors": rejected, "server_errors": failed}
        KeyDay.objects.create(api_key=key, day=yesterday, **numbers)

    shown = page(client)

    assert re.findall('<h2 id="([a-z]+)-title">', shown)[0] == "keys"
    lines = re.findall(r'<span class="name"><bdi>(.*?)</bdi></span>\s*<span>(.*?)</span>', shown)
    assert lines == [
        ("Both", "2 failed, 5 rejected of 9"),
        ("Failed", "1 failed of 7"),
        ("Rejected", "34 rejected of 1,234"),
    ]
    KeyDay.objects.all().delete()
    assert re.findall('<h2 id="([a-z]+)-title">', page(client))[0] == "inventory"


@pytest.mark.once
def test_each_section_is_shown_to_users_who_may_view_what_it_counts_and_without_permissions_whom_to_ask() -> None:
    Pet.objects.create(name="Rex")
    APIKey.objects.create_key(name="Acme")
    sections = {"view_inventoryitem": "inventory", "change_inventoryitem": "inventory", "view_pet": "sales"}
    sections |= {"change_pet": "sales", "view_apikey": "keys", "add_pet": "", "delete_pet": "", "": ""}

    for codename, section in sections.items():
        shown = page(granted(codename, name=f"may {codename}"))
        assert {*re.findall(r'<h2 id="(\w+)-title">', shown)} == ({section, "changes"} if section else set())
        for text in ("Your account may not open any list or form yet", "Ask an administrator"):
            assert (text in shown) == (codename in ("delete_pet", ""))


@pytest.mark.once
def test_the_dashboard_of_an_empty_database_says_how_to_begin() -> None:
    shown = page(staff(is_superuser=True))

    assert "There are no pets yet" in shown
    assert f'<a href="{reverse("admin:pets_pet_add")}">add the first one</a>' in shown
    assert "There are no API keys yet" in shown
    assert f'<a href="{reverse("admin:apikeys_apikey_add")}">Create the first one</a>' in shown
    assert f"No pets were created or sold in the last {sales.DAYS} days" in shown
    assert "No changes yet." in shown
    viewer = page(granted("view_pet", "view_inventoryitem", "view_apikey", name="viewer"))
    for text in ("There are no pets yet", "There are no API keys yet"):
        assert text in viewer
    assert "first one" not in viewer


# The last changes.


def changes(client: Client) -> list[str]:
    """Return the HTML of each change on the dashboard."""
    return re.findall(r'<li class="(?:add|change|delete)link">.*?</li>', page(client), re.DOTALL)


def name_in(change: str) -> str:
    return unescape(re.findall(r"<bdi>(.*?)</bdi>", change)[0])


def test_the_last_ten_changes_by_all_staff_are_shown_newest_first() -> None:
    client = staff(is_superuser=True)
    acme, _ = APIKey.objects.create_key(name="Acme")
    log(Event.Kind.CHANGED, [acme] * dashboard.CHANGES)
    pets = [Pet.objects.create(name=f"Pet {number}") for number in range(8)]
    log(Event.Kind.ADDED, pets)
    log(Event.Kind.CHANGED, [User.objects.get(username="someone")])
    log(Event.Kind.CHANGED, [acme])
    log(Event.Kind.CHANGED, InventoryItem.objects.filter(pk=pets[0].pk))

    found = changes(client)
    shown = [name_in(change) for change in found]

    # A change without words is described by its kind, and not only by its icon.
    assert all(re.search('<span class="change-text">Added\\s*</span>', change) for change in found[3:])
    assert len(shown) == dashboard.CHANGES
    assert shown[0] == "Pet 0"
    assert shown[1].startswith("Acme")
    assert shown[2] == "someone"
    assert shown[3:] == [f"Pet {number}" for number in range(7, 0, -1)]


def test_a_change_of_a_pet_that_is_gone_shows_its_history_the_author_the_change_and_the_time() -> None:
    pet, client = Pet.objects.create(name="Rex"), granted("view_pet")
    log(Event.Kind.CHANGED, [pet], "Name changed from “Max” to “Rex”.")
    Event.objects.update(at=datetime(2026, 3, 10, 12, tzinfo=UTC))
    history = reverse("admin:pets_pet_history", args=[pet.pk])
    pet.delete()

    (change,) = changes(client)

    assert f'<a href="{history}"><bdi>Rex</bdi></a>' in change
    assert '<span class="model-name">pet</span>' in change
    assert "Name changed from “<bdi>Max</bdi>” to “<bdi>Rex</bdi>”." in change
    assert "<bdi>anna</bdi>" in change
    assert '<time datetime="2026-03-10T12:00:00+00:00">2026-03-10 12:00 UTC</time>' in change
    assert "Name changed from" in client.get(history).content.decode()


def test_one_action_on_many_pets_is_one_line_with_its_undo(admin_user: User) -> None:
    event = mark(admin_user, [Pet.objects.create(name=name) for name in ("Rex", "Tom", "Max")], "sold")
    url = reverse("admin:pets_recentchange_change", args=[event.pk])

    for may_undo, client in ((True, granted("view_pet", "change_pet")), (False, granted("view_pet", name="bo"))):
        (change,) = changes(client)
        assert "3 pets." in change
        assert (f'href="{url}"' in change) == may_undo


def test_changes_that_the_user_may_not_view_do_not_displace_others() -> None:
    log(Event.Kind.CHANGED, [Pet.objects.create(name="Rex")])
    log(Event.Kind.CHANGED, [APIKey.objects.create_key(name="Acme")[0]] * 2 * dashboard.CHANGES)

    assert [name_in(change) for change in changes(staff(groups.PETS_AND_INVENTORY))] == ["Rex"]


def test_the_number_of_queries_does_not_depend_on_the_number_of_pets() -> None:
    client = staff(is_superuser=True)

    def queries_with(more: int) -> int:
        Pet.objects.bulk_create(Pet(name="Rex", created_at=timezone.now() - n * DAY) for n in range(more))
        APIKey.objects.create_key(name="Acme")
        # The changed records have the same models each time, because there are queries for each model.
        log(Event.Kind.CHANGED, [*Pet.objects.all(), APIKey.objects.first(), InventoryItem.objects.first()])
        page(client)  # fills the cache of content types
        with CaptureQueriesContext(connection) as queries:
            page(client)
        return len(queries)

    assert queries_with(3) == queries_with(47)
