"""A client developer reads the guide in a real browser."""

from playwright.sync_api import Page, expect

from tests.service import Service


def test_each_program_can_be_copied(page: Page, site: Service) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto("/docs/api")
    buttons = page.get_by_role("button", name="Copy")
    expect(buttons).to_have_count(page.locator("pre").count())

    buttons.first.click()

    expect(page.get_by_role("button", name="Copied")).to_have_count(1)
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == page.locator("pre").first.inner_text()
    assert f"PETS_URL={site.url}/v1 " in copied
