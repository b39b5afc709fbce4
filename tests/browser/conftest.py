import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.db import connection
from playwright.sync_api import Browser, Page, sync_playwright

from tests.databases import fresh_database_url
from tests.service import Service, running_service

# Where to keep pictures of the pages, for people to look at; by default with the other temporary files.
PICTURES = "PETSERVICE_PICTURES"
# What the browser says on its console when something is wrong; the rest is chatter.
COMPLAINTS = ("error", "warning")
# Run in every page before its own scripts.
REPORT_REFUSALS = """
document.addEventListener("securitypolicyviolation", event =>
    reportRefusal(`${event.violatedDirective} ${event.blockedURI} in ${event.documentURI}`))
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser(django_db_setup: None) -> Iterator[Browser]:
    # Playwright runs an event loop in this thread, which Django takes for an asynchronous context: as long as the
    # loop runs, tests have another database connection than before and after.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(
            executable_path="/usr/bin/chromium",
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"],
        )
        # Out of reach once the loop has ended, it would keep the test database from being dropped.
        connection.close()
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that tests share."""
    with running_site(tmp_path_factory.mktemp("site")) as running:
        yield running


@contextmanager
def running_site(folder: Path) -> Iterator[Service]:
    """A service with the staff account `staff` / `a long one`."""
    with fresh_database_url(folder) as url, running_service(folder, DATABASE_URL=url) as running:
        running.manage(
            "shell",
            "-c",
            "from django.contrib.auth import get_user_model as user; "
            "user().objects.create_superuser('staff', password='a long one')",
        )
        yield running


@pytest.fixture
def page(browser: Browser, site: Service) -> Iterator[Page]:
    """An empty browser; what it asks of another host, complains of or refuses to load fails the test."""
    context = browser.new_context(base_url=site.url)
    wrong: list[str] = []
    context.on("request", lambda request: None if _is_own(request.url, site) else wrong.append(request.url))
    context.on("console", lambda message: wrong.append(message.text) if message.type in COMPLAINTS else None)
    context.on("weberror", lambda error: wrong.append(str(error.error)))
    context.expose_function("reportRefusal", lambda refusal: wrong.append(refusal))
    context.add_init_script(REPORT_REFUSALS)
    yield context.new_page()
    context.close()
    assert wrong == []


def _is_own(url: str, site: Service) -> bool:
    return url.startswith((site.url, "data:", "blob:"))


@pytest.fixture
def staff_page(page: Page) -> Page:
    page.goto("/admin/")
    page.get_by_label("Username").fill("staff")
    page.get_by_label("Password").fill("a long one")
    page.get_by_role("button", name="Log in").click()
    return page


@pytest.fixture(autouse=True)
def picture(request: pytest.FixtureRequest, page: Page, tmp_path: Path) -> Iterator[None]:
    """A picture of the page as the test left it."""
    yield
    folder = Path(os.environ.get(PICTURES) or tmp_path)
    page.screenshot(path=folder / (re.sub(r"\W+", "-", request.node.name) + ".png"), full_page=True)
