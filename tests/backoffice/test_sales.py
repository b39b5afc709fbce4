"""The dashboard's chart and table of the pets that came in and were sold."""

import re
from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from pets.models import Pet
from petservice.backoffice import sales
from petservice.configuration.time_zone import zone
from tests.backoffice.clock import Clock
from tests.backoffice.login import INDEX
from tests.backoffice.staff import granted
from tests.backoffice.unkind_records import DAY

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)


@pytest.fixture
def clock(clock: Clock) -> Clock:
    """A clock that stands at NOW."""
    clock.now = NOW
    return clock


def sell(at: datetime, created_at: datetime | None = None, tag: str | None = None) -> None:
    Pet.objects.create(name="Rex", tag=tag, status="sold", created_at=created_at or at - 100 * DAY, sold_at=at)


@pytest.mark.once
def test_both_bars_of_a_day_have_one_scale(admin_client: Client, clock: Clock) -> None:
    for created_at in (NOW, NOW, NOW, None):
        sell(NOW, created_at)

    shown = admin_client.get(INDEX).content.decode()
    assert re.findall('<rect class="bar" x="7" width="36" height="([0-9]+)"', shown) == ["753000", "1000000"]


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
def test_the_two_weeks_before_today_are_compared_and_each_monday_has_a_line(admin_client: Client) -> None:
    for number, ago in enumerate((0, 1, 7, 8, 14, 15), start=1):
        for _ in range(number):
            sell(NOW - ago * DAY)

    text = admin_client.get(INDEX).content.decode()

    weeks = "to yesterday: 0 created and 5 sold. The seven days before: 0 created and 9 sold."
    assert weeks in re.sub(r"\s+", " ", text)
    before_lines = re.findall(r'matrix\(1 0 0 -1 (\d+)00 1000000\)">\s*<path class="line" d="M0 0V', text)
    assert before_lines == ["0", "7", "14", "21", "28"]  # 9 February was a Monday


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

    text = re.sub(r"\s+", " ", re.sub("<[^>]+>", "", granted("view_pet").get(INDEX).content.decode()))

    assert "The last 2 sales: there are more in the last 30 days. The 1 tags of 2 with the most sales." in text
    assert re.search(r"(cat|dog) at least 4 at least [12] under 1", text)
