"""The admin dashboard in a real browser."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.service import Service


@pytest.fixture
def site(filled_site: Service) -> Service:
    """A service with pets from the beginning, because it caches the counts of days for a minute."""
    return filled_site


@pytest.fixture
def dashboard(staff_page: Page) -> Page:
    """The dashboard of an admin with pets, keys and changes."""
    staff_page.goto("/admin/")
    return staff_page


def test_the_keyboard_reaches_a_day_with_a_visible_focus_and_opens_its_pets(dashboard: Page) -> None:
    today = dashboard.get_by_role("link", name=re.compile(r"^\d+ pets? created on .* today$"))
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


def test_a_click_on_the_second_bar_of_a_day_opens_what_was_sold_on_it(dashboard: Page) -> None:
    # Soon after midnight, nothing was sold today.
    sold = dashboard.get_by_role("link", name=re.compile(r"^[1-9]\d* pets? sold on ")).last
    count, day = re.findall(r"^(\d+) pets? sold on ([\d-]+)", sold.locator("title").inner_html())[0]
    sold.locator(".bar").click()

    expect(dashboard.locator(".filter-links span").first).to_have_text(re.compile(f"^{count} results?$"))
    expect(dashboard.get_by_label("Sold from")).to_have_value(day)
    expect(dashboard.get_by_label("Sold to")).to_have_value(day)
