"""Every page of the service at several sizes, in the light and the dark theme.

The pages are found by following links, one page for each URL pattern, so a new page is checked without a change here.
The module form_pages shows the pages to which only forms lead.
With PETSERVICE_PICTURES, the screenshots are kept; see tests/README.md.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

import pytest
from django.contrib import admin
from django.urls import Resolver404, resolve
from playwright.sync_api import Browser, FloatRect, Locator, Page, expect

from tests.browser import form_pages
from tests.browser.accessibility import severe_problems
from tests.browser.conftest import PICTURES, running_site, watched
from tests.service import Service, log_in

FILL = """
from datetime import timedelta
from django.contrib.auth import get_user_model
from django.utils import timezone
from pets import trash
from pets.models import Pet
from petservice.apikeys.models import APIKey
now = timezone.now()
names = ("Rex", "Барсик", "たま", "A long name of a pet that someone typed in full, with a description")
Pet.objects.bulk_create(
    Pet(
        name=f"{names[n % 4]} {n}", tag=("dog", "cat", None)[n % 3], status=Pet.Status.values[n % 3],
        created_at=now - timedelta(hours=n), created_by="staff Bea",
    )
    for n in range(120)
)
trash.move(list(Pet.objects.order_by("pk")[:2]), deleted_by="staff", now=now)
APIKey.objects.create_key(name="Partner feed", expires_at=now + timedelta(days=5))
APIKey.objects.create_key(name="Expired", expires_at=now)
revoked, _ = APIKey.objects.create_key(name="Revoked")
APIKey.objects.filter(pk=revoked.pk).update(revoked_at=now)
APIKey.objects.create_key(name="Acme web shop")
get_user_model().objects.create_user("Bea", password="a long one", is_staff=True)
"""

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

# Where to begin, besides the pages that links lead to.
STARTS = ("/", "/admin/", "/admin/nowhere/", "/admin/pets/pet/add/", "/admin/store/inventoryitem/")
# Pages that a visitor without a login sees.
PUBLIC = {"front": "/", "docs": "/docs", "api-guide": "/docs/api", "login": "/admin/login/"}
# Further URLs of lists: with results of a search, and with a filter that is wrong.
LISTS = {
    f"{name} {query}": f"/admin/{name}/?{query}"
    for name in ("pets/pet", "store/inventoryitem")
    for query in ("q=rex", "q=rex&tag=%3Cb%3E&created_from=yesterday")
} | {"audit, wrong day": "/admin/audit/auditentry/?day_from=yesterday"}
# Responses that are no pages.
NOT_PAGES = {"openapi"}


class Mode(NamedTuple):
    """The size of a window and its theme. A zoom of 200 % halves the size that a page has for its layout."""

    width: int
    height: int
    theme: str


MODES = {
    "light-1440": Mode(1440, 900, "light"),
    "dark-1440": Mode(1440, 900, "dark"),
    "light-390": Mode(390, 844, "light"),
    "dark-390": Mode(390, 844, "dark"),
    "light-zoomed": Mode(720, 450, "light"),
    "dark-zoomed": Mode(720, 450, "dark"),
}

# Each theme and both narrow sizes, for a run that keeps no screenshots. Most faults of layout are in narrow windows.
ESSENTIAL_MODES = ("dark-390", "light-zoomed")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with running_site(tmp_path_factory.mktemp("pages"), FILL) as running:
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
    for model in ("accounts_account", "apikeys_apikey", "auth_user", "pets_pet", "store_inventoryitem"):
        assert {f"admin:{model}_{page}" for page in ("change", "history")} <= set(pages)
    assert {f"admin:pets_pet_{page}" for page in ("add", "delete", "import", "export")} <= set(pages)
    assert {"admin:apikeys_apikey_add", "admin:auth_user_password_change"} <= set(pages)


@pytest.mark.parametrize("mode", MODES if "PETSERVICE_PICTURES" in os.environ else ESSENTIAL_MODES)
def test_every_page_fits_its_window_and_is_accessible(
    browser: Browser, site: Service, pages: dict[str, str], mode: str, tmp_path: Path
) -> None:
    folder = Path(os.environ.get(PICTURES) or tmp_path)
    page, complaints = open_window(browser, site, MODES[mode])
    log_in_as_staff(page)
    shown = pages | LISTS
    wrong = {name: problems(page, url, folder / f"{file_name(name)}-{mode}.png") for name, url in shown.items()}
    page.context.clear_cookies()
    for name, url in PUBLIC.items():
        wrong[f"public {name}"] = problems(page, url, folder / f"public-{name}-{mode}.png")
    page.context.close()

    assert {name: found for name, found in wrong.items() if found} == {}
    assert [text for text in complaints if "404 (Not Found)" not in text] == []


@pytest.mark.parametrize("mode", MODES if "PETSERVICE_PICTURES" in os.environ else ESSENTIAL_MODES)
def test_the_responses_to_forms_fit_their_window_and_are_accessible(
    browser: Browser, site: Service, mode: str, tmp_path: Path
) -> None:
    folder = Path(os.environ.get(PICTURES) or tmp_path)
    page, complaints = open_window(browser, site, MODES[mode])
    log_in_as_staff(page)
    wrong = {
        name: problems_of(page, folder / f"form-{file_name(name)}-{mode}.png")
        for name in form_pages.show_each(page, mode, tmp_path)
    }
    page.context.close()

    assert {name: found for name, found in wrong.items() if found} == {}
    assert [text for text in complaints if "404 (Not Found)" not in text] == []


def open_window(browser: Browser, site: Service, mode: Mode) -> tuple[Page, list[str]]:
    """Return a page of this size, and a list to which the browser's messages of problems are added."""
    context = browser.new_context(
        base_url=site.url,
        viewport={"width": mode.width, "height": mode.height},
        color_scheme=mode.theme,  # type: ignore[arg-type]
    )
    complaints = watched(context, site)
    return context.new_page(), complaints


def log_in_as_staff(page: Page) -> None:
    page.goto("/admin/")
    form_pages.log_in(page)
    page.wait_for_selector("#user-tools")


def file_name(name: str) -> str:
    return re.sub(r"\W+", "-", name).strip("-")


def problems(page: Page, url: str, picture: Path) -> list[str]:
    """Open a page, take a screenshot, and return its problems."""
    page.goto(url)
    if urlsplit(url).path == "/docs":
        page.wait_for_selector(".opblock")
    return problems_of(page, picture)


def problems_of(page: Page, picture: Path) -> list[str]:
    """Take a screenshot of a page, and return what axe finds and by how much the page is wider than the window."""
    page.screenshot(path=picture, full_page="zoomed" not in picture.name)
    wider = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    covered = [f"{text} is covered" for text in page.evaluate(COVERED)]
    return severe_problems(page) + covered + ([f"{wider} pixels wider than the window"] if wider > 0 else [])


# A list with two filters in use.
FILTERED = "?status__exact=sold&created_from=2026-01-01"


@pytest.mark.parametrize("model", ["pets/pet", "store/inventoryitem", "apikeys/apikey"])
def test_a_phone_and_a_zoom_of_200_percent_show_a_row_with_its_state_and_the_bars(
    browser: Browser, site: Service, model: str
) -> None:
    for mode in ("light-zoomed", "light-390"):
        page, _ = open_window(browser, site, MODES[mode])
        log_in_as_staff(page)
        page.goto(f"/admin/{model}/{'' if model == 'apikeys/apikey' else FILTERED}")
        row = page.locator("#result_list tbody tr").first
        state, name = row.locator("[class^=field-stat]").first, row.locator("th").first
        save = page.locator("#changelist input[name=_save]")
        bars = [page.locator("#changelist .actions").first, *save.all()]
        shown = [box(state), box(name), *map(box, bars)]
        for one in shown:
            assert one["x"] + one["width"] <= MODES[mode].width, mode
            assert one["y"] + one["height"] <= MODES[mode].height, mode
        if save.count():
            assert box(bars[0])["y"] + box(bars[0])["height"] < box(state)["y"]
            assert box(state)["y"] + box(state)["height"] <= box(save)["y"]
        page.context.close()


def box(element: Locator) -> FloatRect:
    """Return where an element is in the window."""
    found = element.bounding_box()
    assert found is not None
    return found


def test_a_line_opens_and_closes_the_filters_of_a_phone(browser: Browser, site: Service) -> None:
    page, _ = open_window(browser, site, MODES["light-390"])
    log_in_as_staff(page)
    page.goto(f"/admin/pets/pet/{FILTERED}")
    field, clear = page.get_by_label("Created to"), page.get_by_role("link", name="Clear the filters")
    expect(field).to_be_hidden()
    expect(clear).to_be_visible()

    page.get_by_text("2 filters: status sold, created from 2026-01-01").click()
    expect(field).to_be_visible()
    page.set_viewport_size({"width": 1440, "height": 900})
    expect(page.get_by_text("2 filters:")).to_be_hidden()
    page.reload()
    expect(field).to_be_visible()
    page.context.close()


def test_the_bulk_bar_and_save_stay_in_view(browser: Browser, site: Service) -> None:
    for mode in ("light-1440", "light-390", "light-zoomed"):
        page, _ = open_window(browser, site, MODES[mode])
        log_in_as_staff(page)
        page.goto("/admin/store/inventoryitem/")
        for row in (0, 25, 49):
            page.locator(".action-select").nth(row).check()
            for selector in ("#changelist .actions select", "#changelist input[name=_save]"):
                shown = box(page.locator(selector).first)
                assert 0 <= shown["y"] <= MODES[mode].height - shown["height"], (mode, row, selector)
        page.context.close()


def test_save_never_covers_the_bulk_bar(browser: Browser, site: Service) -> None:
    page, _ = open_window(browser, site, MODES["light-390"])
    log_in_as_staff(page)
    page.goto("/admin/store/inventoryitem/")
    save = page.get_by_role("button", name="Save", exact=True)
    bar = page.locator("#changelist .actions").first
    for height in range(400, 844, 37):  # the list begins at any place of the screen
        page.set_viewport_size({"width": 390, "height": height})
        assert box(bar)["y"] + box(bar)["height"] <= box(save)["y"], height
        assert page.evaluate("scrollY") == 0
    page.context.close()
