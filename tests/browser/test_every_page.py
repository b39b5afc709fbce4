"""Every page of the service at several sizes, in the light and the dark theme.

The pages are found by following links, one page for each URL pattern, so a new page is checked without a change here.
The module form_pages shows the pages to which only forms lead.
With PETSERVICE_PICTURES, the screenshots are kept; see tests/README.md.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import pytest
from django.contrib import admin
from django.urls import Resolver404, resolve
from playwright.sync_api import Browser, Page, expect

from tests.browser import form_pages
from tests.browser.accessibility import severe_problems
from tests.browser.conftest import PICTURES, change_window, fill, log_in_as_staff, running_site, take_picture, watched
from tests.service import Service, log_in

# Returns the texts of the title, and of the buttons next to it, that another part of the page covers.
COVERED = """() => [...document.querySelectorAll("#content > h1, #content .object-tools a")].filter(element => {
    scrollTo(0, 0);
    const range = document.createRange();
    range.selectNodeContents(element);
    const {left, right, top, bottom} = (element.matches("a") ? element : range).getBoundingClientRect();
    const middle = (left + right) / 2; // the corners of buttons are round
    const points = [[middle, top + 1], [middle, bottom - 1], [left + 1, bottom - 1], [right - 1, bottom - 1]];
    const isShown = ([x, y]) => y > innerHeight || element.contains(document.elementFromPoint(x, y));
    return !(element.matches("a") ? points.slice(0, 2) : points).every(isShown);
}).map(element => element.textContent.trim())"""

# Returns the links, buttons and fields that the Tab key does not reach. There is a reachable button beside each of the
# exceptions: a hidden field that it copies, and an arrow of Swagger UI that opens what it opens.
UNREACHABLE = """() => [...document.querySelectorAll("a[href], button, input, select, textarea, summary")]
    .filter(element => !element.matches(".visually-hidden, .opblock-control-arrow"))
    .filter(element => element.tabIndex < 0 && !element.disabled && element.checkVisibility())
    .map(element => element.outerHTML.slice(0, 100))"""

# Returns the buttons of the admin with another font than its text, because browsers have one for buttons.
OTHER_FONTS = """() => [...document.querySelectorAll("#container button")]
    .filter(button => getComputedStyle(button).fontFamily !== getComputedStyle(document.body).fontFamily)
    .map(button => button.outerHTML.slice(0, 100))"""

# Where to begin, besides the pages that links lead to.
STARTS = ("/", "/admin/", "/admin/nowhere/", "/admin/pets/pet/add/")
# Pages that a visitor without a login sees.
PUBLIC = {
    "home": "/",
    "docs": "/docs",
    "api-guide": "/docs/api",
    "changelog": "/docs/changelog",
    "login": "/admin/login/",
}
# Further URLs of lists: with results of a search, and with a filter that is wrong.
LISTS = {
    f"pets/pet {query}": f"/admin/pets/pet/?{query}" for query in ("q=rex", "q=rex&tag=%3Cb%3E&created_from=yesterday")
} | {"audit, wrong day": "/admin/journal/event/?day_from=yesterday"}
# Responses that are no pages.
NOT_PAGES = {"openapi"}


# A zoom of 200 % halves the size that a page has for its layout.
SIZES = {"1440": (1440, 900), "390": (390, 844), "zoomed": (720, 450)}
# Width, height and theme of a window, by name.
MODES = {f"{theme}-{name}": (*size, theme) for name, size in SIZES.items() for theme in ("light", "dark")}
# Each theme and both narrow sizes, for a run that keeps no screenshots. Most faults of layout are in narrow windows.
ESSENTIAL_MODES = ("dark-390", "light-zoomed")
# Further widths of windows, for texts that are wider than a page.
WIDTHS = (1440, 1024, 800)
CHECKED_MODES = tuple(MODES) if os.environ.get(PICTURES) else ESSENTIAL_MODES


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with records of every kind from the beginning, because it caches the counts of days for a minute."""
    with running_site(tmp_path_factory.mktemp("filled-site")) as running:
        with running.models():
            fill()
        yield running


@pytest.fixture(scope="module")
def pages(site: Service) -> dict[str, str]:
    """The URLs of all pages that links lead to, one for each URL pattern, by the name of the pattern."""
    found: dict[str, str] = {}
    with site.client() as client:
        log_in(client, "staff", "a long one")
        waiting = list(STARTS)
        while waiting:
            url = waiting.pop(0)
            name = name_of(url)
            if name in found or name in NOT_PAGES:
                continue
            response = client.get(url, follow_redirects=True)
            if not response.headers["Content-Type"].startswith("text/html"):
                continue
            found[name] = url
            waiting += links(str(response.url), response.text)
    return found


def name_of(url: str) -> str:
    """Return the name of the URL pattern, or the path of a page that does not exist."""
    try:
        return resolve(urlsplit(url).path).view_name or urlsplit(url).path
    except Resolver404:
        return urlsplit(url).path


def links(base: str, page: str) -> Iterator[str]:
    """Yield the links of a page to pages of the service."""
    for address in re.findall(r"""<a [^>]*href=["']([^"'#]+)["']""", page):
        parts = urlsplit(urljoin(base, address.replace("&amp;", "&")))
        if parts.netloc == urlsplit(base).netloc and not parts.path.startswith("/static/"):
            yield parts._replace(scheme="", netloc="", fragment="").geturl()


def test_links_lead_to_every_list_and_every_record(pages: dict[str, str]) -> None:
    lists = {f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist" for model in admin.site._registry}

    assert {*PUBLIC, "admin:help", "admin:index", "admin:password_change"} - {"login"} | lists <= set(pages)
    for model in ("accounts_account", "apikeys_apikey", "auth_user", "pets_pet"):
        assert {f"admin:{model}_{page}" for page in ("change", "history")} <= set(pages)
    assert {f"admin:pets_pet_{page}" for page in ("add", "delete", "import", "export")} <= set(pages)
    assert "admin:apikeys_apikey_add" in pages


def test_every_page_fits_its_window_and_is_accessible(browser: Browser, site: Service, pages: dict[str, str]) -> None:
    page, complaints = open_window(browser, site)
    shown = pages | LISTS
    wrong = {name: problems(page, url, name) for name, url in shown.items() if name not in PUBLIC}
    page.context.clear_cookies()
    for name, url in PUBLIC.items():
        wrong[f"public {name}"] = problems(page, url, f"public {name}")
    page.context.close()

    assert {name: found for name, found in wrong.items() if found} == {}
    # One list has a day that is none, which the field leaves out with a warning.
    expected = ("404 (Not Found)", 'value "yesterday" does not conform')
    assert [text for text in complaints if not any(part in text for part in expected)] == []


def test_the_responses_to_forms_fit_their_window_and_are_accessible(
    browser: Browser, site: Service, tmp_path: Path
) -> None:
    page, complaints = open_window(browser, site)
    wrong = {name: problems_of(page, f"form {name}") for name in form_pages.show_each(page, tmp_path)}
    page.context.close()

    assert {name: found for name, found in wrong.items() if found} == {}
    assert [text for text in complaints if "404 (Not Found)" not in text] == []


def test_the_keyboard_and_a_click_above_a_bar_open_the_pets_of_a_day_of_the_chart(staff_page: Page) -> None:
    staff_page.goto("/admin/")
    today = staff_page.get_by_role("link", name=re.compile(r"^\d+ pets? created on .* today$"))
    column = today.locator(".column")
    expect(column).to_have_css("stroke", "none")
    for _ in staff_page.get_by_role("link").all():
        if today.evaluate("link => link === document.activeElement"):
            break
        staff_page.keyboard.press("Tab")

    expect(today).to_be_focused()
    expect(column).not_to_have_css("stroke", "none")
    staff_page.keyboard.press("Enter")
    expect(staff_page).to_have_title(re.compile(r"^Pets \|"))

    staff_page.goto("/admin/")
    sold = staff_page.get_by_role("link", name=re.compile("^0 pets sold on ")).first
    day = sold.locator("title").inner_html().removeprefix("0 pets sold on ")
    sold.locator(".column").click()
    expect(staff_page.get_by_text("No pets fit.")).to_be_visible()
    for label in ("Sold from", "Sold to"):
        expect(staff_page.get_by_label(label)).to_have_value(day)


def test_the_dashboard_has_the_table_of_the_tags_on_a_small_phone_and_on_paper(staff_page: Page) -> None:
    staff_page.set_viewport_size({"width": 320, "height": 640})
    staff_page.goto("/admin/")
    tag = staff_page.get_by_role("rowheader", name="dog", exact=True).locator("bdi")
    assert tag.evaluate("text => text.getClientRects().length") == 1
    staff_page.emulate_media(media="print")
    expect(staff_page.get_by_role("columnheader", name="Median days in stock")).to_be_visible()
    expect(staff_page.get_by_text("Show as a table")).to_be_hidden()


def open_window(browser: Browser, site: Service) -> tuple[Page, list[str]]:
    """Return an empty page of a logged-in administrator, and a list of the problems that the browser reports later."""
    context = browser.new_context(base_url=site.url)
    log_in_as_staff(context, site)
    complaints = watched(context, site)
    return context.new_page(), complaints


def problems(page: Page, url: str, name: str) -> list[str]:
    """Open a page, and return its problems in all modes."""
    page.goto(url)
    if urlsplit(url).path == "/docs":
        page.wait_for_selector(".opblock")
    return problems_of(page, name)


def problems_of(page: Page, name: str) -> list[str]:
    """Return the problems of the open page in all modes, and take screenshots if a folder for them is named."""
    found = []
    for mode in CHECKED_MODES:
        width, *_ = MODES[mode]
        change_window(page, *MODES[mode])
        if folder := os.environ.get(PICTURES):
            take_picture(page, folder, f"{name} {mode}", full_page="zoomed" not in mode)
        here = severe_problems(page)
        here += [f"{text} is covered" for text in page.evaluate(COVERED)]
        here += [f"Tab does not reach {element}" for element in page.evaluate(UNREACHABLE)]
        here += [f"another font has {button}" for button in page.evaluate(OTHER_FONTS)]
        found += [f"{mode}: {problem}" for problem in [*here, *beyond_the_window(page, width)]]
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        found += beyond_the_window(page, width)
    return found


def beyond_the_window(page: Page, width: int) -> list[str]:
    wider = page.evaluate("document.documentElement.scrollWidth") - width
    return [f"{wider} pixels wider than a window of {width}"] if wider > 0 else []
