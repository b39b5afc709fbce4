"""API keys and locked accounts in a real browser."""

import re
import time

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.accessibility import assert_accessible
from tests.service import Service


def create_key(page: Page, name: str, **fields: str) -> None:
    page.goto("/admin/apikeys/apikey/add/")
    page.get_by_label("Name:").fill(name)
    for label, value in fields.items():
        page.get_by_label(f"{label}:").select_option(value)
    with page.expect_navigation():  # with its style sheets, before the page is measured
        page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("heading", name="API key created")).to_be_visible()


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
    staff_page.get_by_label("The new key expires").select_option("365")
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

    staff_page.goto("/admin/accounts/account/?q=locked")
    staff_page.get_by_role("link", name="locked", exact=True).click()
    staff_page.get_by_role("link", name="Unlock").click()
    assert_accessible(staff_page)
    staff_page.get_by_role("button", name="Unlock").click()
    expect(staff_page.get_by_text("The account locked is unlocked and can log in again.")).to_be_visible()
    expect(staff_page.get_by_role("link", name="Unlock")).to_have_count(0)

    log_in("a long one")
    expect(other.get_by_role("heading", name="Dashboard", exact=True)).to_be_visible()
    context.close()


@pytest.mark.usefixtures("scheme")
def test_a_new_colleague_sets_a_password_with_a_link(staff_page: Page, browser: Browser, site: Service) -> None:
    staff_page.set_viewport_size({"width": 390, "height": 844})
    name = f"colleague-{time.monotonic_ns()}"
    staff_page.goto("/admin/accounts/account/add/")
    staff_page.get_by_label("User name").fill(name)
    staff_page.get_by_label("Pets and inventory").check()
    assert_accessible(staff_page)
    with staff_page.expect_navigation():
        staff_page.get_by_role("button", name="Save", exact=True).click()
    link = staff_page.get_by_label("Password link").input_value()
    staff_page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    staff_page.get_by_role("button", name="Copy link").click()
    expect(staff_page.get_by_text("Copied.")).to_be_visible()
    assert staff_page.evaluate("navigator.clipboard.readText()") == link
    assert staff_page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert_accessible(staff_page)
    staff_page.reload()
    expect(staff_page.get_by_text("A link is shown only once")).to_be_visible()
    assert link not in staff_page.content()
    assert_accessible(staff_page)

    staff_page.context.clear_cookies()
    staff_page.goto(link)
    expect(staff_page).to_have_url(re.compile("/admin/set-password/$"))
    assert_accessible(staff_page)
    staff_page.get_by_label("New password:").fill("another long one")
    staff_page.get_by_label("New password confirmation:").fill("another long one")
    staff_page.get_by_role("button", name="Set password").click()
    expect(staff_page.get_by_text(f"The password of {name} is set.")).to_be_visible()
    staff_page.get_by_label("Username").fill(name)
    staff_page.get_by_label("Password").fill("another long one")
    staff_page.get_by_role("button", name="Log in").click()
    expect(staff_page.get_by_role("heading", name="Dashboard", exact=True)).to_be_visible()
