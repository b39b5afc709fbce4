"""Visitors and staff use the guides in a real browser."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility import assert_accessible

ADDRESSES = ["/docs/api", "/admin/help/"]


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_guide_is_accessible(staff_page: Page, address: str, scheme: str) -> None:
    staff_page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    staff_page.goto(address)

    assert_accessible(staff_page)


@pytest.mark.parametrize("address", ADDRESSES)
def test_guide_fits_the_width_of_a_phone(staff_page: Page, address: str) -> None:
    staff_page.set_viewport_size({"width": 390, "height": 844})
    staff_page.goto(address)

    assert staff_page.evaluate("document.documentElement.scrollWidth") <= 390


def test_home_page_links_to_a_section_of_the_guide(page: Page) -> None:
    page.goto("/")
    page.get_by_role("main").get_by_role("link", name="Guide").click()
    page.get_by_role("link", name="Idempotency").click()

    expect(page).to_have_url(re.compile("/docs/api#idempotency$"))
    expect(page.get_by_role("heading", name="Idempotency")).to_be_in_viewport()


def test_every_page_of_the_admin_links_to_the_guide_and_the_guide_links_back(staff_page: Page) -> None:
    staff_page.goto("/admin/pets/pet/add/")
    staff_page.get_by_role("link", name="Help").click()
    expect(staff_page.get_by_role("heading", name="Admin guide")).to_be_visible()
    staff_page.get_by_role("link", name="Back to the admin").click()

    expect(staff_page.get_by_role("heading", name="Last changes")).to_be_visible()
