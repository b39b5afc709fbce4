"""The guides for client developers and for staff are pages of the service."""

import re

import pytest
from django.conf import LazySettings
from django.test import Client

from petservice import __version__
from petservice.guides.rendering import ADMIN_GUIDE, API_GUIDE, guide

pytestmark = pytest.mark.once


def headings(text: str) -> dict[str, str]:
    """Return the headings of a guide's sections, by their anchors."""
    found = dict(re.findall(r'<h2 id="([^"]+)">(.*)</h2>', text))
    return {anchor: heading for anchor, heading in found.items() if anchor != "contents"}


@pytest.mark.parametrize(("address", "name"), [("/docs/api", API_GUIDE), ("/admin/help/", ADMIN_GUIDE)])
def test_guide_is_a_page_with_its_sections_and_links(admin_client: Client, address: str, name: str) -> None:
    response = admin_client.get(address)
    text = response.content.decode()

    assert response.status_code == 200
    assert response["Content-Type"] == "text/html; charset=utf-8"
    assert response["Content-Security-Policy"]
    assert "style=" not in text
    assert text.count("<script") == text.count("<script src=") >= 1
    assert f"<h1>{guide(name).title}</h1>" in text
    assert len(headings(text)) > 5
    contents = text.partition('id="contents"')[2].partition("</nav>")[0]
    for section in headings(text):
        assert f'<a href="#{section}">' in contents
    targets = re.findall(r'<a href="([^"]*)">', text)
    anchors = set(re.findall(r'<h\d id="([^"]+)">', text)) | {"contents"}
    assert "" not in targets
    assert {target[1:] for target in targets if target.startswith("#")} <= anchors
    for target in targets:
        assert target.startswith(("#", "https://")) or admin_client.get(target).status_code == 200


def test_guide_has_the_url_of_the_service_and_links_to_the_pages_that_it_names(
    client: Client, settings: LazySettings
) -> None:
    settings.ALLOWED_HOSTS = ["pets.example.com"]

    text = client.get("/docs/api", headers={"Host": "pets.example.com:8443"}, secure=True).content.decode()

    assert "PETS_URL=https://pets.example.com:8443/v1 " in text
    assert "127.0.0.1" not in text
    assert {"/docs", "/openapi.json", "/docs/changelog"} <= set(re.findall('<a href="([^"]+)"><code>', text))


def test_changelog_is_a_page(client: Client) -> None:
    text = client.get("/docs/changelog").content.decode()

    assert "<h1>Changelog</h1>" in text
    assert f"{__version__} - " in "".join(headings(text).values())


def test_guide_shows_no_comments_and_unchanged_code_without_a_login_or_the_database(client: Client) -> None:
    response = client.get("/docs/api")

    assert not response.cookies
    assert b"tested:" not in response.content
    assert b'<pre><code class="language-python">import os\n' in response.content


def test_the_guide_for_staff_needs_a_login(client: Client, db: None) -> None:
    assert client.get("/admin/help/").headers["Location"] == "/admin/login/?next=/admin/help/"
