"""API keys and locked accounts in a real browser."""

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.accessibility import assert_accessible
from tests.service import Service


@pytest.fixture(params=["light", "dark"])
def scheme(page: Page, request: pytest.FixtureRequest) -> str:
    page.emulate_media(color_scheme=request.param)
    return request.param


def create_key(page: Page, name: str, **fields: str) -> None:
    page.goto("/admin/apikeys/apikey/add/")
    page.get_by_label("Name:").fill(name)
    for label, value in fields.items():
        page.get_by_label(f"{label}:").select_option(value)
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("heading", name="API key created")).to_be_visible()


@pytest.mark.usefixtures("scheme")
def test_a_phone_shows_a_new_key_in_its_whole_width(staff_page: Page) -> None:
    staff_page.set_viewport_size({"width": 390, "height": 844})
    create_key(staff_page, "Phone")

    assert staff_page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert_accessible(staff_page)


@pytest.mark.usefixtures("scheme")
def test_the_page_of_a_new_key_warns_of_another_environment(staff_page: Page) -> None:
    create_key(staff_page, "Elsewhere", Environment="live")

    expect(staff_page.get_by_text("This test service rejects live keys.")).to_be_visible()
    expect(staff_page.get_by_role("button", name="Copy command")).to_have_count(0)
    assert_accessible(staff_page)


def test_a_rotated_key_and_its_replacement_lead_to_each_other(staff_page: Page) -> None:
    create_key(staff_page, "Renewed")
    staff_page.get_by_role("link", name="Key settings").click()
    staff_page.get_by_role("link", name="Rotate").click()
    staff_page.get_by_label("The new key expires").select_option("After 90 days")
    staff_page.get_by_role("button", name="Rotate").click()
    expect(staff_page.get_by_text("It replaces Renewed")).to_be_visible()

    staff_page.get_by_role("link", name="Key settings").click()
    replacement = staff_page.url
    staff_page.locator(".field-old_key").get_by_role("link", name="Renewed").click()
    expect(staff_page.locator(".field-state")).to_contain_text("Replaced")
    expect(staff_page.get_by_role("link", name="Rotate")).to_have_count(0)
    staff_page.locator(".field-replaced_by").get_by_role("link", name="Renewed").click()
    expect(staff_page).to_have_url(replacement)


def test_an_administrator_unlocks_an_account(staff_page: Page, browser: Browser, site: Service) -> None:
    site.create_staff("locked", "a long one")
    context = browser.new_context(base_url=site.url)
    other = context.new_page()

    def log_in(password: str) -> None:
        other.goto("/admin/")
        other.get_by_label("Username").fill("locked")
        other.get_by_label("Password").fill(password)
        other.get_by_role("button", name="Log in").click()

    for number in range(5):
        log_in(f"guess {number}")
    log_in("a long one")
    expect(other.get_by_role("heading", name="Too many failed logins")).to_be_visible()

    staff_page.goto("/admin/auth/user/?q=locked")
    staff_page.get_by_role("link", name="locked", exact=True).click()
    staff_page.get_by_role("link", name="Unlock").click()
    assert_accessible(staff_page)
    staff_page.get_by_role("button", name="Unlock").click()
    expect(staff_page.get_by_text("locked is unlocked and can log in again.")).to_be_visible()
    expect(staff_page.get_by_role("link", name="Unlock")).to_have_count(0)

    log_in("a long one")
    expect(other.get_by_role("heading", name="Admin", exact=True)).to_be_visible()
    context.close()
