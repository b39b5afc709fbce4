"""Staff accounts in a real browser."""

import re

from playwright.sync_api import Page, expect


def test_a_new_colleague_sets_a_password_with_a_link(staff_page: Page) -> None:
    staff_page.goto("/admin/accounts/account/add/")
    staff_page.get_by_label("User name").fill("eve")
    staff_page.get_by_label("Pets and inventory").check()
    with staff_page.expect_navigation():
        staff_page.get_by_role("button", name="Save", exact=True).click()
    link = staff_page.get_by_label("Password link").input_value()
    staff_page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    staff_page.get_by_role("button", name="Copy link").click()
    expect(staff_page.get_by_text("Copied.")).to_be_visible()
    assert staff_page.evaluate("navigator.clipboard.readText()") == link
    staff_page.reload()
    expect(staff_page.get_by_text("A link is shown only once")).to_be_visible()
    assert link not in staff_page.content()

    staff_page.context.clear_cookies()
    staff_page.goto(link)
    expect(staff_page).to_have_url(re.compile("/admin/set-password/[^/]+/set-password/$"))
    staff_page.get_by_label("New password:").fill("another long one")
    staff_page.get_by_label("New password confirmation:").fill("another long one")
    staff_page.get_by_role("button", name="Set password").click()
    expect(staff_page.get_by_text("The password of eve is set.")).to_be_visible()
    staff_page.get_by_label("Username").fill("eve")
    staff_page.get_by_label("Password").fill("another long one")
    staff_page.get_by_role("button", name="Log in").click()
    expect(staff_page.get_by_role("heading", name="Dashboard", exact=True)).to_be_visible()
