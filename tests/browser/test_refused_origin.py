"""A form behind a proxy that changes what the browser says about its origin, in a real browser and a real HAProxy."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.service import Service, free_port, responds
from tests.waiting import wait_until

# A configuration for each fault, and one without a fault.
RULES = {
    "no fault": "",
    "no-referrer": "http-response set-header Referrer-Policy no-referrer",
    "no Host": "http-request set-header Host localhost",
}
CONFIGURATION = """
defaults
    mode http
    timeout connect 2s
    timeout client 30s
    timeout server 60s
frontend hardened
    bind 127.0.0.1:{port}
    option forwardfor
    http-request set-header X-Forwarded-Proto http
    {rule}
    default_backend service
backend service
    server one {service}
"""


@pytest.fixture
def proxy(request: pytest.FixtureRequest, tmp_path: Path, site: Service) -> Iterator[str]:
    """The URL of an HAProxy with one of the faults."""
    port = free_port()
    text = CONFIGURATION.format(port=port, rule=RULES[request.param], service=site.url.removeprefix("http://"))
    (tmp_path / "haproxy.cfg").write_text(text)
    process = subprocess.Popen(["haproxy", "-db", "-f", tmp_path / "haproxy.cfg"])
    try:
        wait_until(lambda: responds(f"http://127.0.0.1:{port}"))
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=10)


@pytest.mark.parametrize("proxy", RULES, indirect=True)
def test_refused_login_names_the_origin_and_the_causes(
    browser: Browser, proxy: str, request: pytest.FixtureRequest
) -> None:
    page = browser.new_page(base_url=proxy)
    page.goto("/admin/login/")
    page.get_by_label("Username").fill("staff")
    page.get_by_label("Password").fill("a long one")
    page.get_by_role("button", name="Log in").click()

    if request.node.callspec.params["proxy"] == "no fault":
        expect(page.get_by_role("heading", name="Dashboard", exact=True)).to_be_visible()
    else:
        expect(page.get_by_role("heading", name="The origin of this form was refused")).to_be_visible()
        for cause in ("Referrer-Policy", "Host", "CSRF_TRUSTED_ORIGINS"):
            expect(page.get_by_text(cause)).to_be_visible()
    page.close()
