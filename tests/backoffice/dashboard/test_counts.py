"""The figures of the admin dashboard."""

import re
from datetime import datetime, timedelta
from html import unescape
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.test import Client, RequestFactory
from django.utils import timezone

from pets.models import Pet
from petservice.admin_pages import charts
from petservice.apikeys.models import IDLE_AFTER, NEVER_USED_AFTER, SOON, APIKey
from petservice.backoffice import dashboard
from store.models import InventoryCounter
from tests.backoffice.dashboard.pages import DAY, INDEX, NOW, page
from tests.backoffice.staff import granted, staff

pytestmark = pytest.mark.django_db

FIGURE = re.compile(
    r'<a href="([^"]+)">\s*<span class="label">([^<]+)</span>\s*<span class="figure">([\d,]+)</span>'
    r'(?:\s*<span class="percentage">([^<]+)</span>)?'
)


def figures(client: Client) -> dict[str, tuple[int, str]]:
    """Return the figures of the dashboard with their URLs, by label."""
    return {
        label: (int(figure.replace(",", "")), unescape(url)) for url, label, figure, _ in FIGURE.findall(page(client))
    }


def dashboard_at(now: datetime) -> dict[str, Any]:
    """Return the dashboard of a superuser at this time."""
    request = RequestFactory().get(INDEX)
    request.user = get_user_model()(is_superuser=True, is_staff=True)
    return dashboard.read(admin.site, request, now=now)


def test_each_figure_equals_the_list_that_it_links_to() -> None:
    now = timezone.now()
    for status, number in {"available": 1, "pending": 2, "sold": 3}.items():
        Pet.objects.bulk_create(Pet(name="Rex", status=status) for _ in range(number))
    kinds: list[dict[str, Any]] = [
        {"last_used_at": now},
        {"revoked_at": now},
        {"last_used_at": now, "expires_at": now + SOON - DAY},
        *2 * [{"last_used_at": now, "expires_at": now - DAY}],
        {},
        *3 * [{"created_at": now - NEVER_USED_AFTER - DAY}],
        *4 * [{"last_used_at": now - IDLE_AFTER - DAY}],
    ]
    for fields in kinds:
        APIKey.objects.create_key(name="Acme", **fields)
    client = staff(is_superuser=True)

    shown = figures(client)

    assert [count for count, _ in shown.values()] == [1, 2, 3, 1, 2, 3, 4]
    for label, (count, url) in shown.items():
        assert client.get(url).context["cl"].result_count == count, label


@pytest.mark.parametrize(
    ("fields", "counted"),
    [
        ({"expires_at": -DAY}, "Expired"),
        ({"expires_at": -DAY, "last_used_at": -2 * IDLE_AFTER}, "Expired"),
        ({"expires_at": DAY}, f"Expire within {SOON.days} days"),
        ({"expires_at": DAY, "last_used_at": -2 * IDLE_AFTER}, f"Expire within {SOON.days} days"),
        ({"created_at": -DAY, "expires_at": 2 * SOON}, None),
        ({"created_at": -2 * NEVER_USED_AFTER, "expires_at": 2 * SOON}, "Never used, created over 7 days ago"),
        ({"last_used_at": -2 * IDLE_AFTER}, f"Not used for {IDLE_AFTER.days} days"),
        ({"last_used_at": -DAY}, None),
        ({"revoked_at": -DAY, "expires_at": -DAY}, None),
    ],
)
def test_a_key_is_counted_once_in_the_first_matching_line(fields: dict[str, timedelta], counted: str | None) -> None:
    APIKey.objects.create_key(name="Acme", **{name: NOW + time for name, time in fields.items()})

    figures = dashboard_at(NOW)["keys"]["figures"]

    assert {one["label"]: one["count"] for one in figures if one["count"]} == ({counted: 1} if counted else {})


@pytest.mark.parametrize("grace_period", [timedelta(0), DAY])
def test_a_replaced_key_needs_no_attention(grace_period: timedelta) -> None:
    old, _ = APIKey.objects.create_key(name="Acme", expires_at=NOW + DAY)
    new, _ = old.rotate(grace_period=grace_period, expires_at=None, now=NOW)
    APIKey.objects.filter(pk=new.pk).update(last_used_at=NOW)

    assert not any(figure["count"] for figure in dashboard_at(NOW)["keys"]["figures"])


@pytest.mark.parametrize(
    ("counts", "percentages"),
    [
        ((1, 1, 2), ["25%", "25%", "50%"]),
        ((1_234_567, 0, 1), ["over 99%", "0%", "under 1%"]),
        ((0, 7, 0), ["0%", "100%", "0%"]),
    ],
)
def test_the_inventory_shows_percentages(counts: tuple[int, ...], percentages: list[str]) -> None:
    InventoryCounter.objects.all().delete()
    for status, count in zip(Pet.Status, counts, strict=True):
        InventoryCounter.objects.create(status=status, count=count)

    shown = FIGURE.findall(page(granted("view_inventoryitem")))

    assert [percentage for *_, percentage in shown] == percentages
    assert [figure for _, _, figure, _ in shown] == [f"{count:,}" for count in counts]


def test_the_chart_shows_the_last_thirty_days_including_today() -> None:
    for days_ago in (0, 0, 1, 29, 29, 29, 29, 30):
        Pet.objects.create(name="Rex", created_at=NOW - days_ago * DAY)

    days = dashboard_at(NOW)["days"]

    assert [bar["day"] for bar in days["bars"]] == [NOW.date() - n * DAY for n in reversed(range(30))]
    assert {bar["day"]: bar["count"] for bar in days["bars"] if bar["count"]} == {
        NOW.date(): 2,
        NOW.date() - DAY: 1,
        NOW.date() - 29 * DAY: 4,
    }
    assert days["total"] == 7
    assert days["best"] == days["bars"][0]


def test_the_height_of_a_day_bar_is_proportional_to_its_count() -> None:
    for days_ago in (0, 1, 1):
        Pet.objects.create(name="Rex", created_at=NOW - days_ago * DAY)

    bars = dashboard_at(NOW)["days"]["bars"]

    assert all(bar["y"] + bar["height"] == charts.FULL for bar in bars)
    assert [bar["height"] for bar in bars[-3:]] == [0, charts.FULL, charts.FULL / 2]


def test_the_bar_of_the_smallest_count_is_visible() -> None:
    InventoryCounter.objects.create(status="sold", count=10**9)
    InventoryCounter.objects.create(status="pending", count=1)

    _, pending, _ = dashboard_at(NOW)["inventory"]["bars"]

    assert pending["width"] == charts.MIN_LENGTH


def test_the_count_of_a_day_equals_its_list_of_pets(admin_client: Client) -> None:
    first = NOW - 29 * DAY
    # These are the first and the last microseconds of days in UTC.
    for created_at in (first.replace(hour=0), NOW.replace(hour=0), NOW.replace(hour=0) - timedelta(microseconds=1)):
        Pet.objects.create(name="Rex", created_at=created_at)

    days = dashboard_at(NOW)["days"]

    assert [bar["count"] for bar in days["bars"]] == [1, *[0] * 27, 1, 1]
    for count, url in [(days["total"], days["url"]), *((bar["count"], bar["url"]) for bar in days["bars"])]:
        assert admin_client.get(url).context["cl"].result_count == count, url


def test_the_chart_of_days_has_a_text_for_each_bar() -> None:
    now = timezone.now()
    for _ in range(2):
        Pet.objects.create(name="Rex", created_at=now - DAY)
    day = now - DAY

    shown = page(granted("view_pet"))

    assert f"<title>2 pets on {day:%Y-%m-%d}</title>" in shown
    assert shown.count("<title>0 pets on ") == dashboard.DAYS - 1
    assert shown.count('<tr><th scope="row">') == dashboard.DAYS
    assert re.search(rf"2 pets</a> in the last {dashboard.DAYS} days", shown)
