"""A login behind a proxy that changes what the browser says about its origin, with a real HAProxy."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.faults.haproxy import running_haproxy
from tests.service import Service

CONFIGURATION = """
defaults
    mode http
    timeout connect 2s
    timeout client 30s
    timeout server 60s
frontend hardened
    bind :443 ssl crt /etc/haproxy/pets.pem
    option forwardfor
    http-request set-header X-Forwarded-Proto https
    RULE
    default_backend service
backend service
    server one SERVICE
"""


@pytest.mark.parametrize(
    ("rule", "heading"),
    [
        ("", "Dashboard"),
        ("http-response set-header Referrer-Policy no-referrer", "The origin of this form was refused"),
        ("http-request set-header Host localhost", "The origin of this form was refused"),
    ],
)
def test_refused_login_names_the_origin_and_the_causes(
    browser: Browser, site: Service, tmp_path: Path, rule: str, heading: str
) -> None:
    replaced = {"RULE": rule, "SERVICE": site.url.removeprefix("http://")}
    with running_haproxy(tmp_path, CONFIGURATION, replaced) as proxy:
        page = browser.new_page(base_url=proxy.url, ignore_https_errors=True)
        page.goto("/admin/login/")
        page.get_by_label("Username").fill("staff")
        page.get_by_label("Password").fill("a long one")
        page.get_by_role("button", name="Log in").click()

        expect(page.get_by_role("heading", name=heading, exact=True)).to_be_visible()
        for cause in ("Referrer-Policy", "Host", "CSRF_TRUSTED_ORIGINS") if rule else ():
            expect(page.get_by_text(cause)).to_be_visible()
        page.close()
