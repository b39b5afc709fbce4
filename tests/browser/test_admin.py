"""Staff use the admin in a real browser."""

from playwright.sync_api import Page, expect

from petservice.apikeys.models import APIKey
from tests.browser.test_pets import make
from tests.service import Service


def copied(page: Page, name: str) -> str:
    """Press the button with this name, and return what it has copied."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    button = page.get_by_role("button", name=name)
    button.click()
    expect(button.locator("xpath=following-sibling::*[1]")).to_have_text("Copied.")
    return str(page.evaluate("navigator.clipboard.readText()"))


def test_the_links_to_a_list_and_to_a_page_for_a_password_are_copied(staff_page: Page, site: Service) -> None:
    make(site, {"name": "Rex", "tag": "otter"})
    staff_page.goto("/admin/pets/pet/?tag=otter")
    assert copied(staff_page, "Copy link") == f"{site.url}/admin/pets/pet/?tag=otter"

    staff_page.goto("/admin/accounts/account/add/")
    staff_page.get_by_label("User name").fill("eve")
    staff_page.get_by_label("Pets and inventory").check()
    staff_page.get_by_role("button", name="Save", exact=True).click()
    link = staff_page.get_by_label("Password link").input_value()
    assert copied(staff_page, "Copy link") == link


def test_a_new_key_is_copied_and_never_shown_again(staff_page: Page, site: Service) -> None:
    before = count_keys(site)
    staff_page.goto("/admin/apikeys/apikey/add/")
    staff_page.get_by_label("Name:").fill("Copied")
    staff_page.get_by_role("button", name="Save", exact=True).click()
    plain = staff_page.get_by_label("API key", exact=True).input_value()

    assert copied(staff_page, "Copy key") == plain
    assert copied(staff_page, "Copy command") == f"curl -H 'X-API-Key: {plain}' {site.url}/v1/pets"

    staff_page.reload()
    expect(staff_page.get_by_text("A key is shown only once")).to_be_visible()
    assert plain not in staff_page.content()
    staff_page.go_back()
    assert plain not in staff_page.content()
    assert count_keys(site) == before + 1


def count_keys(site: Service) -> int:
    with site.models():
        return APIKey.objects.count()


def test_a_key_that_is_pasted_into_the_search_does_not_get_into_the_url(staff_page: Page, site: Service) -> None:
    plain = site.create_key()
    staff_page.goto("/admin/apikeys/apikey/")
    staff_page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    staff_page.evaluate("text => navigator.clipboard.writeText(text)", plain)
    staff_page.locator("#searchbar").focus()
    staff_page.keyboard.press("Control+V")
    staff_page.keyboard.press("Enter")

    expect(staff_page.locator("#result_list tbody tr")).to_have_count(1)
    expect(staff_page.locator("#result_list")).to_contain_text(plain[:18])
    assert staff_page.url.endswith(f"?q={plain[:18]}")


def test_the_expiry_of_a_key_has_the_date_field_of_the_browser_and_names_another_zone(staff_page: Page) -> None:
    clock = staff_page.context.new_cdp_session(staff_page)
    clock.send("Emulation.setTimezoneOverride", {"timezoneId": "Africa/Lagos"})
    staff_page.goto("/admin/apikeys/apikey/add/")
    expect(staff_page.get_by_text("Days are UTC; your clock is 1 hour ahead.")).to_be_visible()
    assert staff_page.locator(".vDateField, .vTimeField").count() == 0
    expect(staff_page.get_by_label("Day of expiry")).to_have_attribute("type", "date")
