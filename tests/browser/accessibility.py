"""Automatic accessibility checks of a page with axe-core."""

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

# The impact levels of axe for problems that keep people from using a page. The other levels are advice.
SEVERE = ("serious", "critical")

# The rows of a table after the first six, which look like these. Each row takes axe about 20 ms.
REPEATED_ROWS = [["tbody tr:nth-child(n+7)"]]
CONTEXT = {"exclude": REPEATED_ROWS}

# Runs all rules of axe on the page, or those of a list. Preloading would load our style sheets a second time, which the
# content security policy of the page blocks. The result has only the violations, because the report of what passed
# takes longer than the checks. The rule on regions is advice, and one of the slowest. The rule on the size of targets
# is off by default.
RUN = """async ([context, rules]) => {
    const switched = {region: {enabled: false}, "target-size": {enabled: true}};
    const options = {preload: false, resultTypes: ["violations"], rules: switched};
    return (await axe.run(context, rules.length ? {...options, runOnly: rules} : options)).violations;
}"""


def severe_problems(page: Page, *rules: str) -> list[str]:
    """Return the severe problems of a page, by all rules or by these: rule, element and explanation."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    return [
        f"{violation['id']}: {' '.join(map(str, node['target']))}: {node['failureSummary']}"
        for violation in page.evaluate(RUN, [CONTEXT, rules])
        if violation["impact"] in SEVERE
        for node in violation["nodes"]
    ]
