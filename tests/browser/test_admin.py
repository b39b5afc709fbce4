"""Staff use the admin in a real browser."""

import re
from datetime import UTC, datetime

import httpx
from playwright.sync_api import Page, expect

from petservice.apikeys import keys
from petservice.apikeys.models import APIKey, KeyDay
from tests.browser.accessibility import assert_accessible
from tests.browser.test_pets import make
from tests.service import Service


def inventory(site: Service) -> dict[str, int]:
    with site.client(site.create_key()) as client:
        return client.get("/v1/store/inventory").json()


def test_staff_add_a_pet_and_change_its_status_in_the_list(staff_page: Page, site: Service) -> None:
    before = inventory(site)
    staff_page.goto("/admin/pets/pet/add/")
    staff_page.get_by_label("Name:").fill("たま <b>")
    staff_page.get_by_role("button", name="Save", exact=True).click()
    expect(staff_page.get_by_text("was added successfully")).to_be_visible()
    assert inventory(site) == before | {"available": before["available"] + 1}

    staff_page.goto("/admin/store/inventoryitem/?q=たま")
    expect(staff_page.get_by_role("link", name="たま <b>", exact=True)).to_be_visible()
    staff_page.locator("select[name=form-0-status]").select_option("sold")
    staff_page.get_by_role("button", name="Save", exact=True).click()

    expect(staff_page.get_by_text("1 pet changed.")).to_be_visible()
    assert inventory(site) == before | {"sold": before["sold"] + 1}


def test_the_dashboard_follows_a_change_of_status_in_the_list(staff_page: Page, site: Service) -> None:
    def shown() -> dict[str, str]:
        staff_page.goto("/admin/")
        bars = {status: staff_page.locator(f"a[href$='status__exact={status}'] .figure") for status in inventory(site)}
        return {status: bar.inner_text() for status, bar in bars.items()}

    make(site, {"name": "Watched"})
    before = inventory(site)
    assert shown() == {status: f"{count:,}" for status, count in before.items()}

    staff_page.goto("/admin/store/inventoryitem/?q=watched")
    staff_page.locator("select[name=form-0-status]").select_option("pending")
    staff_page.get_by_role("button", name="Save", exact=True).click()
    expect(staff_page.get_by_text("1 pet changed.")).to_be_visible()

    after = before | {"available": before["available"] - 1, "pending": before["pending"] + 1}
    assert shown() == {status: f"{count:,}" for status, count in after.items()}


def test_staff_mark_pets_in_bulk(staff_page: Page, site: Service) -> None:
    with site.client(site.create_key()) as client:
        for number in range(3):
            client.post("/v1/pets", json={"name": f"Bulk {number}"})
    before = inventory(site)
    staff_page.goto("/admin/store/inventoryitem/?q=Bulk")
    staff_page.locator("#action-toggle").check()
    staff_page.get_by_label("Action:").select_option(label="Mark as pending")
    staff_page.get_by_role("button", name=re.compile("Go|Run")).click()

    expect(staff_page.get_by_text("3 pets marked as pending.")).to_be_visible()
    assert inventory(site) == before | {"available": before["available"] - 3, "pending": before["pending"] + 3}


def test_a_key_is_created_used_rotated_and_revoked(staff_page: Page, site: Service) -> None:
    def status(key: str) -> int:
        return httpx.get(f"{site.url}/v1/pets", headers={"X-API-Key": key}, trust_env=False).status_code

    staff_page.goto("/admin/apikeys/apikey/add/")
    staff_page.get_by_label("Name:").fill("Acme's web shop")
    staff_page.get_by_role("button", name="Save", exact=True).click()
    first = staff_page.get_by_label("API key", exact=True).input_value()
    assert status(first) == 200

    staff_page.get_by_role("link", name="Key settings").click()
    with site.models():  # a worker adds the one request within a minute
        use = {"requests": 41, "day": datetime.now(UTC).date()}
        KeyDay.objects.update_or_create(use, api_key=APIKey.objects.get(prefix=keys.prefix(first)))
    staff_page.reload()
    expect(staff_page.get_by_text(re.compile(r"4[12] requests in the last 30 days"))).to_be_visible()
    staff_page.get_by_text("Show as a table").click()
    expect(staff_page.get_by_role("row", name=re.compile(r"\d{4}-\d\d-\d\d 4[12] 0 0"))).to_be_visible()
    assert_accessible(staff_page)
    staff_page.get_by_role("link", name="Rotate").click()
    staff_page.get_by_label("Keep the old key working for").select_option("Not at all (stop it now)")
    staff_page.get_by_role("button", name="Rotate").click()
    second = staff_page.get_by_label("API key", exact=True).input_value()
    assert [status(first), status(second)] == [401, 200]

    staff_page.get_by_role("link", name="Key settings").click()
    staff_page.get_by_role("link", name="Revoke").click()
    staff_page.get_by_role("button", name="Revoke").click()
    expect(staff_page.get_by_text("Revoked Acme's web shop")).to_be_visible()
    assert status(second) == 401


def test_keys_are_revoked_in_bulk_after_a_confirmation(staff_page: Page, site: Service) -> None:
    def choose() -> None:
        staff_page.locator("#action-toggle").check()
        staff_page.get_by_label("Action:").select_option(label="Revoke selected API keys")
        staff_page.get_by_role("button", name=re.compile("Go|Run")).click()
        expect(staff_page.get_by_role("heading", name="Revoke 2 API keys?")).to_be_visible()

    with site.models():
        for _ in range(2):
            APIKey.objects.create_key(name="Leaked together")
    states = staff_page.locator("#result_list .field-state")
    staff_page.goto("/admin/apikeys/apikey/?q=Leaked")
    choose()
    assert_accessible(staff_page)
    staff_page.get_by_role("link", name="Go back").click()
    expect(states).to_have_text(["Active", "Active"])

    choose()
    staff_page.get_by_role("button", name="Revoke").click()

    expect(staff_page.get_by_text("Revoked 2 API keys.")).to_be_visible()
    expect(states).to_have_text(["Revoked", "Revoked"])


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


def test_the_calendar_and_the_clock_of_a_form_work(staff_page: Page) -> None:
    clock = staff_page.context.new_cdp_session(staff_page)
    clock.send("Emulation.setTimezoneOverride", {"timezoneId": "Africa/Lagos"})
    staff_page.goto("/admin/apikeys/apikey/add/")
    expect(staff_page.get_by_text("Times are UTC; your clock is 1 hour ahead.").first).to_be_visible()
    staff_page.locator(".date-icon").click()
    staff_page.get_by_role("link", name="Tomorrow").click()
    staff_page.locator(".clock-icon").click()
    staff_page.get_by_role("link", name="Noon").click()

    expect(staff_page.locator("#id_expires_at_0")).to_have_value(re.compile(r"\d{4}-\d\d-\d\d"))
    expect(staff_page.locator("#id_expires_at_1")).to_have_value("12:00:00")
