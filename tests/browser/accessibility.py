"""Automatic accessibility checks of a page with axe-core."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

# The impact levels of axe for problems that keep people from using a page. The other levels are advice.
SEVERE = ("serious", "critical")


# Two defects of Django's own pages of users and groups, which only superusers see: icons whose labels screen readers
# do not read, and times without labels.
EXCLUDED = {"exclude": [[".help-tooltip"], ["#user_form .datetime"]]}


def assert_accessible(page: Page) -> None:
    """Fail with the report of axe if the page has severe problems."""
    found = severe_problems(page)
    if found:
        pytest.fail("\n".join([page.url, *found]))


def severe_problems(page: Page) -> list[str]:
    """Return the severe problems of a page: rule, element and explanation."""
    # Preloading would load our style sheets a second time, which the content security policy of the page blocks.
    results = Axe().run(page, context=EXCLUDED, options={"preload": False})
    return [
        f"{violation['id']}: {' '.join(map(str, node['target']))}: {node['failureSummary']}"
        for violation in results.response["violations"]
        if violation["impact"] in SEVERE
        for node in violation["nodes"]
    ]
