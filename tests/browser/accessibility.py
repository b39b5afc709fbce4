"""Can people with a screen reader, a keyboard or weak eyes use the page? axe-core judges, as far as a program can."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

# axe's own words for what keeps people from using a page; the rest is advice.
SEVERE = ("serious", "critical")


def assert_accessible(page: Page) -> None:
    """Fail, with axe's report, if the page as it is now breaks a rule severely."""
    # It would load our style sheets a second time, into the page, which the page's own policy refuses.
    results = Axe().run(page, options={"preload": False})
    severe = [violation for violation in results.response["violations"] if violation["impact"] in SEVERE]
    if severe:
        results.response["violations"] = severe
        pytest.fail(f"{page.url}: {results.generate_report()}")
