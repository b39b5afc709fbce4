"""The admin dashboard: its figures, its sections by permission, the last changes, and its number of queries."""

import re
from datetime import UTC, datetime, time, timedelta
from html import unescape
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from pets.models import Pet
from pets.services import create_pet
from petservice.apikeys.models import APIKey, KeyDay
from petservice.backoffice import sales
from petservice.configuration.time_zone import zone
from petservice.journal.models import Event
from store.models import InventoryCounter, InventoryItem
from tests.backoffice.clock import Clock
from tests.backoffice.dashboard_page import DAY, INDEX, NOW, log, page
from tests.backoffice.staff import granted, staff
from tests.backoffice.unkind_records import create_keys

pytestmark = pytest.mark.django_db

FIGURE = re.compile(
    r'<a href="([^"]+)">\s*<span class="label">([^<]+)</span>\s*<span class="figure">([\d,]+)</span>'
    r'(?:\s*<span class="percentage">([^<]+)</span>)?'
)


@pytest.fixture
def clock(clock: Clock) -> Clock:
    """A clock that stands at NOW."""
    clock.now = NOW
    return clock


def test_each_figure_equals_the_list_that_it_links_to(clock: Clock) -> None:
    for status, number in {"available": 1, "pending": 2, "sold": 3}.items():
        Pet.objects.bulk_create(Pet(name="Rex", status=status) for _ in range(number))
    create_keys(clock.now)
    client = staff(is_superuser=True)

    found = FIGURE.findall(page(client))

    assert {label: unescape(url).partition("?")[2] for url, label, *_ in found} == {
        **{status.label: f"status__exact={status}" for status in Pet.Status},
        "Expired": "state=expired",
        "Expire within 14 days": "state=soon",
        "Never used, created over 7 days ago": "state=active&use=never",
        "Not used for 90 days": "state=active&use=idle",
    }
    for url, label, count, _ in found:
        assert client.get(unescape(url)).context["cl"].result_count == int(count) > 0, label


def test_the_inventory_shows_percentages_and_a_bar_for_the_smallest_count() -> None:
    client = granted("view_inventoryitem")
    for counts, percentages, widths in (
        ((1, 1, 2), ["25%", "25%", "50%"], ["259000", "259000", "506000"]),
        ((1_234_567, 0, 1), ["100%", "0%", "0%"], ["999999", "12001"]),
        ((0, 7, 0), ["0%", "100%", "0%"], ["1000000"]),
    ):
        InventoryCounter.objects.all().delete()
        for status, count in zip(Pet.Status, counts, strict=True):
            InventoryCounter.objects.create(status=status, count=count)

        text = page(client)
        shown = FIGURE.findall(text)

        assert [percentage for *_, percentage in shown] == percentages
        assert [figure for _, _, figure, _ in shown] == [f"{count:,}" for count in counts]
        assert re.findall('<rect class="bar" width="([0-9]+)"', text) == widths


def sell(at: datetime, created_at: datetime | None = None, tag: str | None = None) -> None:
    Pet.objects.create(name="Rex", tag=tag, status="sold", created_at=created_at or at - 100 * DAY, sold_at=at)


@pytest.mark.once
def test_both_bars_of_a_day_have_one_scale(admin_client: Client, clock: Clock) -> None:
    for created_at in (NOW, NOW, NOW, None):
        sell(NOW, created_at)

    assert re.findall('<rect class="bar" x="7" width="36" height="([0-9]+)"', page(admin_client)) == [
        "753000",
        "1000000",
    ]


# In March 2026, clocks changed in Los Angeles.
@pytest.mark.parametrize("name", ["UTC", "Pacific/Auckland", "America/Los_Angeles"])
def test_the_count_of_a_day_of_the_store_equals_its_list_of_pets_and_has_a_text(
    admin_client: Client, clock: Clock, settings: Any, name: str
) -> None:
    settings.STORE_TIME_ZONE = zone(name)
    today, microsecond = NOW.astimezone(zone(name)).date(), timedelta(microseconds=1)
    first, last = (datetime.combine(day, time.min, zone(name)).astimezone(UTC) for day in (today - 29 * DAY, today))
    # These are the first and the last microseconds of days, one of which is too long ago.
    for at in (first - microsecond, first, last - microsecond, last):
        sell(at, created_at=at)

    response = admin_client.get(INDEX)
    shown, text = response.context["dashboard"]["sales"], response.content.decode()

    for number, kind in enumerate(("created", "sold")):
        bars = [row[number] for row in shown["rows"]]
        assert [bar["day"] for bar in bars] == [today - n * DAY for n in reversed(range(30))]
        assert [bar["count"] for bar in bars] == [1, *[0] * 27, 1, 1]
        total = shown[kind]
        assert bars[-2] in shown["yesterday"]
        whole = {"count": total["total"], "url": total["url"]}
        for bar in (whole, *bars[:2], *bars[-3:]):
            assert admin_client.get(bar["url"]).context["cl"].result_count == bar["count"], bar["url"]
        assert f"<title>1 pet {kind} on {today}, today</title>" in text
        assert f"<title>1 pet {kind} on {today - DAY}</title>" in text
    assert text.count("<title>0 pets ") == 60 - 6
    assert len(re.findall(r'<tr><th scope="row">\d', text)) == 30
    summary = re.sub(r"\s+", " ", re.sub("<[^>]+>", "", text))
    assert f"In the last 30 days ({name}): 3 created (full bars) and 3 sold (striped bars). Yesterday: 1 " in summary
    clock.advance(DAY)
    tomorrow = admin_client.get(INDEX).context["dashboard"]["sales"]["rows"]
    assert [[bar["count"] for bar in row] for row in tomorrow[-2:]] == [[1, 1], [0, 0]]


@pytest.mark.usefixtures("clock")
def test_the_table_of_tags_shows_what_is_available_and_was_sold_and_how_long_it_took(admin_client: Client) -> None:
    for stock in (1, 2, 9):
        sell(NOW - DAY, NOW - (1 + stock) * DAY, tag="dog")
    sell(NOW, NOW - 0.2 * DAY, tag="Dog")
    sell(NOW - 30 * DAY, tag="dog")
    sell(NOW - 2 * DAY, NOW - 6 * DAY)
    for tag in ("dog", "DOG", "\uff44\uff4f\uff47", "cat", None):
        Pet.objects.create(name="Rex", tag=tag)
    Pet.objects.create(name="Rex", tag="dog", status="pending")

    tags = admin_client.get(INDEX).context["dashboard"]["sales"]["tags"]

    assert (tags["number"], tags["are_all_sales"]) == (2, True)
    columns = ("name", "available", "sold", "days_in_stock")
    assert [tuple(row[column] for column in columns) for row in tags["rows"]] == [("Dog", 3, 4, 1.5), (None, 1, 1, 4)]
    for row in tags["rows"]:
        for column in ("available", "sold"):
            assert admin_client.get(row[f"{column}_url"]).context["cl"].result_count == row[column]


def test_numbers_that_a_limit_stops_are_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sales, "MAX_SALES", 2)
    monkeypatch.setattr(sales, "MAX_PETS", 3)
    monkeypatch.setattr(sales, "TAGS", 1)
    now = timezone.now()
    for tag in ("dog", "dog", "cat"):
        sell(now, now, tag=tag)
    for _ in range(4):
        Pet.objects.create(name="Rex", tag="cat", created_at=now)
        Pet.objects.create(name="Rex", tag="dog", created_at=now)

    text = re.sub(r"\s+", " ", re.sub("<[^>]+>", "", page(granted("view_pet"))))

    assert "The last 2 sales: there are more in the last 30 days. The 1 tags of 2 with the most sales." in text
    assert re.search(r"(cat|dog) at least 4 at least [12] under 1", text)


def test_keys_with_failed_or_rejected_requests_yesterday_come_first_of_all_the_worst_first(clock: Clock) -> None:
    client = granted("view_apikey", "view_pet", "view_inventoryitem")
    yesterday = NOW.date() - DAY
    key, _ = APIKey.objects.create_key(name="Failed on other days", last_used_at=NOW)
    for day in (yesterday - DAY, yesterday + DAY):
        KeyDay.objects.create(api_key=key, day=day, requests=9, server_errors=9)
    keys = {"Good": (9, 0, 0), "Rejected": (1234, 34, 0), "Failed": (7, 0, 1), "Both": (9, 5, 2)}
    for name, (requests, rejected, failed) in keys.items():
        key, _ = APIKey.objects.create_key(name=name, last_used_at=NOW)
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
@pytest.mark.parametrize(
    ("codename", "sections"),
    [
        ("view_inventoryitem", {"inventory", "changes"}),
        ("change_inventoryitem", {"inventory", "changes"}),
        ("view_pet", {"sales", "changes"}),
        ("change_pet", {"sales", "changes"}),
        ("view_apikey", {"keys", "changes"}),
        ("add_pet", set()),
        ("delete_pet", set()),
        ("", set()),
    ],
)
def test_each_section_is_shown_to_users_who_may_view_what_it_counts_and_without_permissions_whom_to_ask(
    codename: str, sections: set[str]
) -> None:
    create_pet(name="Rex")
    APIKey.objects.create_key(name="Acme")

    shown = page(granted(codename))

    assert set(re.findall(r'<h2 id="(\w+)-title">', shown)) == sections
    for text in ("Your account has no permissions yet", "Ask an administrator"):
        assert (text in shown) == (not codename)


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
