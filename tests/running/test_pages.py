"""The HTML pages have a strict Content-Security-Policy, and the home page works without a database."""

import re
from collections.abc import Callable

import pytest
from django.conf import LazySettings
from django.test import Client

from tests.service import GUNICORN, Service

pytestmark = pytest.mark.once

POLICY = {
    *("default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:", "connect-src 'self'"),
    *("form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'", "object-src 'none'"),
}
PAGES = ["/", "/docs", "/docs/api", "/docs/changelog", "/admin/login/"]


# The policy.


@pytest.mark.django_db  # the first page of a process checks for pending migrations
@pytest.mark.parametrize("address", PAGES)
def test_every_page_has_the_policy(client: Client, address: str) -> None:
    response = client.get(address)

    assert (response.status_code, response["X-Frame-Options"]) == (200, "DENY")
    assert set(response["Content-Security-Policy"].split("; ")) == POLICY


@pytest.mark.parametrize("address", ["/", "/docs", "/admin/"])
def test_error_page_has_the_policy(client: Client, settings: LazySettings, address: str) -> None:
    foreign = client.get(address, headers={"Host": "unknown.example.com"})
    settings.REQUIRE_HTTPS = True
    plain = client.get(address)

    assert (foreign.status_code, plain.status_code) == (400, 403)
    assert foreign.content == b"This address is not set up for the pet service. Use the address that you were given."
    assert plain.content == b"Use https:// to open this page."
    for response in (foreign, plain):
        assert response["Content-Type"].startswith("text/html")
        assert set(response["Content-Security-Policy"].split("; ")) == POLICY


# The home page. It must not use the database, which pytest-django prevents in these tests.


def test_home_page_shows_the_url_that_the_visitor_used(client: Client, settings: LazySettings) -> None:
    settings.ALLOWED_HOSTS = ["pets.example.com"]

    text = client.get("/", headers={"Host": "pets.example.com:8443"}, secure=True).content.decode()

    assert re.findall(r"<pre><code>(.*)</code></pre>", text) == [
        'curl "https://pets.example.com:8443/v1/health"',
        'curl -H "X-API-Key: YOUR_KEY" "https://pets.example.com:8443/v1/pets"',
    ]


def test_home_page_ignores_cookies_and_sets_none() -> None:
    for cookies in ("", f"sessionid={'x' * 32}; csrftoken={'y' * 32}"):
        response = Client(headers={"Cookie": cookies}).get("/")

        assert response.status_code == 200
        assert not response.cookies
        assert "Vary" not in response


@pytest.fixture(params=["serve", *GUNICORN])
def server(request: pytest.FixtureRequest, service: Service, plain_gunicorn: Callable[[str], Service]) -> Service:
    """The shared service, and plain gunicorn with each of its workers, in turn."""
    return service if request.param == "serve" else plain_gunicorn(request.param)


@pytest.mark.parametrize("address", PAGES)
def test_every_file_that_a_page_names_is_of_the_service_and_exists(server: Service, address: str) -> None:
    with server.client() as client:
        page = client.get(address)
        assert page.headers["Content-Length"] == str(len(page.content))
        text = page.text
        icon, *others = re.findall(r'<link rel="icon" href="([^"]+)"', text)
        files = re.findall(r'<(?:link|script)[^>]+(?:href|src)="([^"]*)"', text)

        assert others == []
        assert [file for file in files if not re.match("/(?!/)", file)] == []
        assert client.get(icon).headers["Content-Type"] == "image/svg+xml"
        assert {client.get(file).status_code for file in files} == {200}
