"""The home page in a real browser."""

from playwright.sync_api import Page, expect


def test_a_laptop_shows_it_without_scrolling(page: Page) -> None:
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto("/")

    assert page.evaluate("document.body.scrollHeight <= innerHeight")


def test_the_theme_chosen_on_one_page_holds_on_all(staff_page: Page) -> None:
    def theme() -> str:
        return str(staff_page.evaluate("getComputedStyle(document.documentElement).colorScheme"))

    staff_page.emulate_media(color_scheme="light")
    staff_page.goto("/")
    staff_page.get_by_role("button", name="Theme: auto").click()
    for url in ("/", "/docs/api", "/docs", "/admin/", "/admin/help/"):
        staff_page.goto(url)
        assert theme() == "dark", url
    staff_page.emulate_media(color_scheme="light")
    staff_page.goto("/docs")
    expect(staff_page.locator("html.dark-mode")).to_be_visible()
    staff_page.get_by_role("button", name="Theme: dark").click()
    expect(staff_page.locator("html.dark-mode")).to_have_count(0)
