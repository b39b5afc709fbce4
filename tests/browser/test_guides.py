"""Visitors and staff use the guides in a real browser."""

import re

from playwright.sync_api import Page, expect


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
