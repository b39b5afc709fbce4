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


def test_a_click_above_the_second_bar_of_a_day_opens_what_was_sold_on_it(dashboard: Page) -> None:
    sold = dashboard.get_by_role("link", name=re.compile("^0 pets sold on ")).first
    day = sold.locator("title").inner_html().removeprefix("0 pets sold on ")
    sold.locator(".column").click()

    expect(dashboard.get_by_text("No pets fit.")).to_be_visible()
    expect(dashboard.get_by_label("Sold from")).to_have_value(day)
    expect(dashboard.get_by_label("Sold to")).to_have_value(day)
