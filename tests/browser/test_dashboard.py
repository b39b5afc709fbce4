"""The admin dashboard in a real browser."""

import re
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import Locator, Page, expect

from pets.models import Pet
from petservice.apikeys.models import APIKey
from tests.browser.accessibility import assert_accessible
from tests.browser.conftest import running_site
from tests.service import Service


def fill() -> None:
    """Create pets of the last week, keys that need attention, and changes."""
    now = timezone.now()
    pets = Pet.objects.bulk_create(
        Pet(name=f"Pet {n}", status=Pet.Status.values[n % 3], created_at=now - timedelta(days=n % 7)) for n in range(50)
    )
    APIKey.objects.create_key(name="Soon", expires_at=now + timedelta(days=1))
    APIKey.objects.create_key(name="Expired", expires_at=now)
    staff = User.objects.get(username="staff")
    LogEntry.objects.log_actions(staff.pk, pets[:2], CHANGE, "Renamed.")  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with pets from the beginning, because it caches the counts of days for a minute."""
    with running_site(tmp_path_factory.mktemp("dashboard"), fill) as running:
        yield running


@pytest.fixture
def dashboard(staff_page: Page) -> Page:
    """The dashboard of an admin with pets, keys and changes."""
    staff_page.goto("/admin/")
    return staff_page


@pytest.mark.usefixtures("scheme")
def test_it_is_accessible_in_light_and_in_dark(dashboard: Page) -> None:
    dashboard.get_by_text("Show as a table").click()

    expect(dashboard.get_by_role("table").get_by_role("row", name=re.compile(r"\d{4}-\d\d-\d\d \d+"))).to_have_count(30)
    assert_accessible(dashboard)


@pytest.mark.usefixtures("scheme")
def test_its_bars_have_enough_contrast(dashboard: Page) -> None:
    behind = luminance(color(dashboard.locator("body"), "backgroundColor"))
    for bar in [*dashboard.locator(".bars .bar").all(), dashboard.locator(".columns .bar").first]:
        lesser, greater = sorted([behind, luminance(color(bar, "fill"))])
        assert (greater + 0.05) / (lesser + 0.05) >= 3, "less contrast than WCAG 2.2 requires for graphics (1.4.11)"


def color(element: Locator, name: str) -> str:
    value: str = element.evaluate("(element, name) => getComputedStyle(element)[name]", name)
    return value


def luminance(rgb: str) -> float:
    """Return the relative luminance of a colour, as WCAG defines it."""
    channels = [int(part) / 255 for part in re.findall(r"\d+", rgb)[:3]]
    red, green, blue = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_the_keyboard_reaches_a_day_with_a_visible_focus_and_opens_its_pets(dashboard: Page) -> None:
    today = dashboard.get_by_role("link", name=re.compile(r"^\d+ pets on .* today$"))
    column = today.locator(".column")
    expect(column).to_have_css("stroke", "none")
    for _ in dashboard.get_by_role("link").all():
        if today.evaluate("link => link === document.activeElement"):
            break
        dashboard.keyboard.press("Tab")

    expect(today).to_be_focused()
    expect(column).not_to_have_css("stroke", "none")
    dashboard.keyboard.press("Enter")
    expect(dashboard).to_have_title(re.compile(r"^Pets \|"))


def test_whole_column_of_a_day_can_be_clicked(dashboard: Page) -> None:
    drawing = dashboard.locator(".columns svg")
    drawing.click(position={"x": 3, "y": 3})  # in the column of the first day, above its bar

    expect(dashboard).to_have_title(re.compile(r"^Pets \|"))


def test_a_status_links_to_its_pets(dashboard: Page) -> None:
    dashboard.get_by_role("link", name="Sold").click()

    expect(dashboard).to_have_url(re.compile(r"/admin/store/inventoryitem/\?status__exact=sold$"))
