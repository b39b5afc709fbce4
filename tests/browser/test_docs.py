"""A client developer on the documentation page, in a real browser."""

from playwright.sync_api import Page, expect

from tests.conftest import Service


def test_a_developer_authorises_and_tries_an_operation(page: Page, site: Service) -> None:
    page.goto("/docs")
    page.get_by_role("button", name="Authorize").first.click()
    page.locator(".auth-container input").fill(site.create_key())
    page.locator(".auth-container").get_by_role("button", name="Apply credentials").click()
    page.locator(".auth-container").get_by_role("button", name="Close").click()

    operation = page.locator("#operations-Pets-createPet")
    operation.click()
    operation.get_by_role("button", name="Try it out").click()
    operation.get_by_role("button", name="Execute").click()

    expect(operation.locator(".live-responses-table .response-col_status").last).to_contain_text("201")
    expect(operation.locator(".live-responses-table")).to_contain_text('"name": "Rex"')
