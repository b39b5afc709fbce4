"""Staff use the admin in a real browser."""

from playwright.sync_api import Page, expect

from petservice.apikeys.models import APIKey
from tests.service import Service


def test_a_new_key_is_copied_and_never_shown_again(staff_page: Page, site: Service) -> None:
    staff_page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    before = count_keys(site)
    staff_page.goto("/admin/apikeys/apikey/add/")
    staff_page.get_by_label("Name:").fill("Copied")
    staff_page.get_by_role("button", name="Save", exact=True).click()
    plain = staff_page.get_by_label("API key", exact=True).input_value()

    staff_page.get_by_role("button", name="Copy key").click()
    expect(staff_page.get_by_text("Copied.")).to_be_visible()
    assert staff_page.evaluate("navigator.clipboard.readText()") == plain
    staff_page.get_by_role("button", name="Copy command").click()
    expect(staff_page.get_by_text("Copied.")).to_have_count(2)
    assert staff_page.evaluate("navigator.clipboard.readText()") == (f"curl -H 'X-API-Key: {plain}' {site.url}/v1/pets")

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
    staff_page.get_by_label("Name:").fill("Dated")
    staff_page.get_by_label("Day of expiry").fill("2099-12-31")
    staff_page.get_by_role("button", name="Save", exact=True).click()
    expect(staff_page.get_by_text("expires on 2099-12-31 23:59 UTC")).to_be_visible()
    staff_page.get_by_role("link", name="Key settings").click()
    expect(staff_page.get_by_label("Expires at")).to_have_value("2099-12-31")
