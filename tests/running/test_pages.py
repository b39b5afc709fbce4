"""The pages for visitors and the guide for staff: their policy, files and links. The first need no database."""

import re

import pytest
from django.conf import LazySettings
from django.test import Client

from petservice import __version__
from petservice.guides.rendering import ADMIN_GUIDE, API_GUIDE, CHANGELOG, guide
from petservice.monitoring.counters import take
from tests.service import Service

pytestmark = pytest.mark.once

POLICY = {
    *("default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:", "connect-src 'self'"),
    *("form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'", "object-src 'none'"),
}
LOGIN = "/admin/login/"
PAGES = ["/", "/docs", "/docs/api", "/docs/changelog", LOGIN]


@pytest.mark.parametrize("address", [*PAGES[:-1], pytest.param(LOGIN, marks=pytest.mark.django_db)])
def test_every_page_has_the_policy_and_all_but_the_login_ignore_cookies(address: str) -> None:
    response = Client(headers={"Cookie": f"sessionid={'x' * 32}; csrftoken={'y' * 32}"}).get(address)

    assert (response.status_code, response["X-Frame-Options"]) == (200, "DENY")
    assert set(response["Content-Security-Policy"].split("; ")) == POLICY
    assert bool(response.cookies) == ("Vary" in response) == (address == LOGIN)


@pytest.mark.parametrize("address", ["/", "/docs", "/admin/"])
def test_error_page_has_the_policy_and_is_counted(client: Client, settings: LazySettings, address: str) -> None:
    take()
    foreign = client.get(address, headers={"Host": "unknown.example.com"})
    settings.REQUIRE_HTTPS = True
    plain = client.get(address)

    assert (foreign.status_code, plain.status_code) == (400, 403)
    assert foreign.content == b"This address is not set up for the pet service. Use the address that you were given."
    assert plain.content == b"Use https:// to open this page."
    assert take() == {("refusals", "unknown_host"): 1, ("refusals", "plain_http"): 1}
    for response in (foreign, plain):
        assert response["Content-Type"].startswith("text/html")
        assert set(response["Content-Security-Policy"].split("; ")) == POLICY


@pytest.mark.parametrize(
    ("address", "line"),
    [
        ("/", '<code>curl "https://pets.example.com:8443/v1/health"</code>'),
        ("/", '<code>curl -H "X-API-Key: YOUR_KEY" "https://pets.example.com:8443/v1/pets"</code>'),
        ("/docs/api", "PETS_URL=https://pets.example.com:8443/v1 "),
    ],
)
def test_page_shows_the_url_that_the_visitor_used(
    client: Client, settings: LazySettings, address: str, line: str
) -> None:
    settings.ALLOWED_HOSTS = ["pets.example.com"]

    text = client.get(address, headers={"Host": "pets.example.com:8443"}, secure=True).content.decode()

    assert line in text
    assert "127.0.0.1" not in text


@pytest.mark.parametrize(
    ("address", "name", "part"),
    [
        ("/docs/api", API_GUIDE, '<pre><code class="language-python">import os\n'),
        ("/docs/api", API_GUIDE, '<a href="/docs"><code>/docs</code></a>'),
        ("/docs/api", API_GUIDE, '<a href="/openapi.json"><code>/openapi.json</code></a>'),
        ("/docs/api", API_GUIDE, '<a href="/docs/changelog"><code>'),
        ("/docs/changelog", CHANGELOG, f">{__version__} - "),
        ("/admin/help/", ADMIN_GUIDE, "<table>"),
    ],
)
def test_guide_is_a_page_with_its_sections_and_links(admin_client: Client, address: str, name: str, part: str) -> None:
    text = admin_client.get(address).content.decode()

    assert part in text
    assert "tested:" not in text  # a mark of the tests, in a comment
    assert f"<h1>{guide(name).title}</h1>" in text
    anchors = {*re.findall(r'<h\d id="([^"]+)">', text), "contents"}
    contents = text.partition('id="contents"')[2].partition("</nav>")[0]
    assert re.findall('<a href="#(.*?)">', contents) == [*guide(name).sections]
    for target in re.findall(r'<a href="([^"]*)">', text):
        if target.startswith("#"):
            assert target[1:] in anchors
        else:
            assert target.startswith("https://") or admin_client.get(target).status_code == 200, target


@pytest.mark.parametrize("server", ["service", "plain_gunicorn"])
@pytest.mark.parametrize("address", PAGES)
def test_every_file_that_a_page_names_is_of_the_service_and_exists(
    request: pytest.FixtureRequest, server: str, address: str
) -> None:
    running: Service = request.getfixturevalue(server)
    with running.client() as client:
        page = client.get(address)
        assert page.headers["Content-Length"] == str(len(page.content))
        text = page.text
        icon, *others = re.findall(r'<link rel="icon" href="([^"]+)"', text)
        files = re.findall(r'<(?:link|script)[^>]+(?:href|src)="([^"]*)"', text)

        assert others == []
        assert [file for file in files if not re.match("/(?!/)", file)] == []
        assert client.get(icon).headers["Content-Type"] == "image/svg+xml"
        assert {client.get(file).status_code for file in files} == {200}
