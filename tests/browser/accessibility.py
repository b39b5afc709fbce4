"""Automatic accessibility checks of a page with axe-core."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

# The impact levels of axe for problems that keep people from using a page. The other levels are advice.
SEVERE = ("serious", "critical")


def assert_accessible(page: Page) -> None:
    """Fail with the report of axe if the page has severe problems."""
    # Preloading would load our style sheets a second time, which the content security policy of the page blocks.
    results = Axe().run(page, options={"preload": False})
    severe = [violation for violation in results.response["violations"] if violation["impact"] in SEVERE]
    if severe:
        results.response["violations"] = severe
        pytest.fail(f"{page.url}: {results.generate_report()}")
