import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone
from playwright.sync_api import Browser, BrowserContext, FloatRect, Locator, Page, sync_playwright

from pets.models import Pet, SavedFilter
from petservice.apikeys.models import APIKey, KeyDay
from petservice.journal.models import Event
from petservice.journal.recording import Change, add_event
from tests.databases import migrated_database_url
from tests.pets.changes import delete, mark, request_of
from tests.service import Service, log_in, running_service

# The environment variable with the folder for screenshots. Without it, only tests that fail take one.
PICTURES = "PETSERVICE_PICTURES"
# The types of console messages that report a problem.
COMPLAINTS = ("error", "warning")
# A script that runs in every page before its own scripts.
REPORT_REFUSALS = """
document.addEventListener("securitypolicyviolation", event =>
    reportRefusal(`${event.violatedDirective} ${event.blockedURI} in ${event.documentURI}`))
"""
# Waits for two frames, because scripts learn of a change of the theme in the second one, and then ends the transitions
# that such a change starts. The end of the transition of an element can start those of its children. Nothing waits for
# a transition to end by itself, because Chromium does not advance all of them while it takes screenshots. An endless
# animation, such as the sign of loading in Swagger UI, goes on.
SETTLE = """async () => {
    const frame = () => new Promise(requestAnimationFrame);
    const ends = animation => animation.effect.getComputedTiming().endTime < Infinity;
    const running = () => document.getAnimations().filter(one => one.playState === "running" && ends(one));
    await frame();
    do {
        await frame();
        running().forEach(animation => animation.finish());
    } while (running().length);
}"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser(django_db_setup: None) -> Iterator[Browser]:
    # Playwright runs an event loop in this thread, so Django assumes an asynchronous context. While the loop runs,
    # tests have another database connection than before and after.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(
            executable_path="/usr/bin/chromium-headless-shell",
            args=["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"],
        )
        # After the loop has ended nothing can close this connection, and it would keep the test database in use.
        connection.close()
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A running service that the browser tests share."""
    with running_site(tmp_path_factory.mktemp("site")) as running:
        yield running


@contextmanager
def running_site(folder: Path) -> Iterator[Service]:
    """Run a service with the staff account `staff`, whose password is `a long one`."""
    with migrated_database_url(folder) as url, running_service(folder, DATABASE_URL=url) as running:
        running.create_staff("staff", "a long one")
        yield running


def fill() -> None:
    """Create records of every kind and in every state, also with long names without blanks."""
    now = timezone.now()
    names = ("Rex", "Барсик", "たま", "A long name of a pet that someone typed in full, with a description")
    Pet.objects.bulk_create(
        Pet(
            name=f"{names[n % 4]} {n}",
            tag=("dog", "cat", None)[n % 3],
            status=Pet.Status.values[n % 3],
            created_at=now - timedelta(hours=n),
            sold_at=now - timedelta(hours=n) / 2 if n % 3 == 2 else None,
            created_by="staff Bea",
        )
        for n in range(120)
    )
    user = User.objects.get()
    mark(user, Pet.objects.all()[5:8], "sold")
    delete(user, *Pet.objects.order_by("pk")[:2], Pet.objects.create(name="V" * 255))
    wide = Pet.objects.create(name="W" * 255, tag="M" * 255)
    change = [Change(wide.pk, wide.name, {"tag": "dog"}, {"tag": wide.tag})]
    told: Any = {"message": f"“{wide}”: “{wide.tag}”.", "permissions": ["pets.change_pet"]}
    add_event(request_of(user), Event.Kind.CHANGED, target=Pet, changes=change, **told)
    APIKey.objects.create_key(name="Partner feed", expires_at=now + timedelta(days=5))
    APIKey.objects.create_key(name="Expired", expires_at=now)
    revoked, _ = APIKey.objects.create_key(name="Revoked")
    APIKey.objects.filter(pk=revoked.pk).update(revoked_at=now)
    used, _ = APIKey.objects.create_key(name="Acme web shop")
    for ago in range(2):
        day = now.date() - timedelta(days=ago)
        KeyDay.objects.create(api_key=used, day=day, requests=41, client_errors=2, server_errors=1)
    owner = User.objects.create_user("B" * 150, password="a long one", is_staff=True)
    SavedFilter.objects.create(owner=owner, name="Dogs", query="tag=dog", is_shared=True)


def make(site: Service, *pets: dict[str, str]) -> list[str]:
    """Create pets through the API and return their ids."""
    with site.client(site.create_key()) as client:
        return [client.post("/v1/pets", json=pet).json()["id"] for pet in pets]


@pytest.fixture
def page(browser: Browser, site: Service) -> Iterator[Page]:
    """An empty page, which fails the test if it contacts another host, reports an error or violates its policy."""
    context = browser.new_context(base_url=site.url)
    wrong = watched(context, site)
    yield context.new_page()
    context.close()
    assert wrong == []


def watched(context: BrowserContext, site: Service) -> list[str]:
    """Return a list to which requests to other hosts, errors and violations of the policy are added."""
    wrong: list[str] = []
    own = (site.url, "data:", "blob:")
    context.on("request", lambda request: None if request.url.startswith(own) else wrong.append(request.url))
    context.on("console", lambda message: wrong.append(message.text) if message.type in COMPLAINTS else None)
    context.on("weberror", lambda error: wrong.append(str(error.error)))
    context.expose_function("reportRefusal", lambda refusal: wrong.append(refusal))
    context.add_init_script(REPORT_REFUSALS)
    return wrong


@pytest.fixture
def staff_page(page: Page, site: Service) -> Page:
    """An empty page of a logged-in administrator."""
    log_in_as_staff(page.context, site)
    return page


def log_in_as_staff(context: BrowserContext, site: Service) -> None:
    """Log in to the admin without its pages, which would take most of the time of a short test."""
    with site.client() as client:
        log_in(client, "staff", "a long one")
        cookies = client.cookies.jar
    context.add_cookies([{"name": one.name, "value": one.value or "", "url": site.url} for one in cookies])


def change_window(page: Page, width: int, height: int, theme: Any) -> None:
    """Change the size and the theme of a window. No page has to be loaded again for this."""
    page.set_viewport_size({"width": width, "height": height})
    page.emulate_media(color_scheme=theme)
    page.evaluate(SETTLE)


def box(element: Locator) -> FloatRect:
    """Return where an element is in the window."""
    found = element.bounding_box()
    assert found is not None
    return found


@pytest.fixture(autouse=True)
def picture(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[None]:
    """A screenshot of the page at the end of a test that fails, or of each test if the variable names a folder."""
    page = request.getfixturevalue("page") if "page" in request.fixturenames else None
    folder, failed = os.environ.get(PICTURES), request.session.testsfailed
    yield
    if page and (folder or request.session.testsfailed > failed):
        take_picture(page, folder or tmp_path, request.node.name)


def take_picture(page: Page, folder: str | Path, name: str, *, full_page: bool = True) -> None:
    page.screenshot(path=Path(folder, re.sub(r"\W+", "-", name) + ".png"), full_page=full_page)
