"""The guides in a real browser."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility import assert_accessible

ADDRESSES = ["/docs/api", "/admin/help/"]


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_guide_is_accessible(staff_page: Page, address: str, scheme: str) -> None:
    staff_page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    staff_page.goto(address)

    assert_accessible(staff_page)


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_phone_shows_a_guide_in_its_whole_width(staff_page: Page, address: str) -> None:
    staff_page.set_viewport_size({"width": 390, "height": 844})
    staff_page.goto(address)

    assert staff_page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_visitor_finds_a_section_of_the_guide_from_the_home_page(page: Page) -> None:
    page.goto("/")
    page.get_by_role("link", name="Guide").click()
    page.get_by_role("link", name="Idempotency").click()

    expect(page).to_have_url(re.compile("/docs/api#idempotency$"))
    expect(page.get_by_role("heading", name="Idempotency")).to_be_in_viewport()


def test_staff_find_the_guide_from_any_page_of_the_admin_and_the_way_back(staff_page: Page) -> None:
    staff_page.goto("/admin/pets/pet/add/")
    staff_page.get_by_role("link", name="Help").click()
    expect(staff_page.get_by_role("heading", name="Admin guide")).to_be_visible()
    staff_page.get_by_role("link", name="Back to the admin").click()

    expect(staff_page.get_by_role("heading", name="Last changes")).to_be_visible()
