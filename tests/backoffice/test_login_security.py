"""The client address of a login behind a proxy, and the cookies."""

import re
from pathlib import Path

import httpx
import pytest
from django.test import Client

from tests.backoffice.login import ELSEWHERE, HERE, INDEX, LIMIT, LOGIN, PASSWORD
from tests.databases import migrated_database_url
from tests.service import Service, running_service

pytestmark = [pytest.mark.django_db, pytest.mark.once, pytest.mark.usefixtures("ada")]


@pytest.mark.long
def test_behind_a_proxy_a_lockout_uses_the_address_from_the_proxy_and_no_forged_one(tmp_path: Path) -> None:
    """The test acts as the proxy, because it connects from the loopback address, which is trusted by default."""
    with (
        migrated_database_url(tmp_path) as url,
        running_service(tmp_path, DATABASE_URL=url, PETSERVICE_REQUIRE_HTTPS="1") as service,
    ):
        service.create_staff("ada", PASSWORD)

        for number in range(LIMIT):
            _log_in(service, f"guess {number}", forwarded_for=f"203.0.113.{number}, {HERE}")

        assert _log_in(service, PASSWORD, forwarded_for=f"203.0.113.99, {HERE}").status_code == 429
        attempts = service.execute("SELECT ip_address, username, failures_since_start FROM axes_accessattempt")
        assert attempts == [(HERE, "ada", LIMIT)]
        accepted = _log_in(service, PASSWORD, forwarded_for=f"{HERE}, {ELSEWHERE}")
        assert accepted.status_code == 302
        assert_guarded(accepted.headers.get_list("Set-Cookie"), {"sessionid", "csrftoken", "last_account"}, secure=True)
        assert accepted.headers["Cross-Origin-Opener-Policy"] == "same-origin"


def _log_in(service: Service, password: str, *, forwarded_for: str) -> httpx.Response:
    with service.client() as client:
        client.headers = {"X-Forwarded-For": forwarded_for, "X-Forwarded-Proto": "https"}
        page = client.get(LOGIN)
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)[1]
        # The client does not send a Secure cookie over HTTP, so it is set here. Browser and proxy use HTTPS.
        headers = {
            "Cookie": f"csrftoken={page.cookies['csrftoken']}",
            "Origin": service.url.replace("http://", "https://"),
        }
        form = {"username": "ada", "password": password, "csrfmiddlewaretoken": token}
        return client.post(f"{LOGIN}?next={INDEX}", data=form, headers=headers)


def assert_guarded(cookies: list[str], names: set[str], *, secure: bool) -> None:
    assert {cookie.partition("=")[0] for cookie in cookies} == names
    for cookie in cookies:
        attributes = cookie.split("; ")
        assert "HttpOnly" in attributes
        assert "SameSite=Lax" in attributes
        assert ("Secure" in attributes) is secure


def test_scripts_and_other_sites_cannot_use_the_cookies() -> None:
    client = Client(enforce_csrf_checks=True)
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', client.get(LOGIN).content.decode())[1]

    response = client.post(LOGIN, {"username": "ada", "password": PASSWORD, "csrfmiddlewaretoken": token})

    cookies = [morsel.OutputString() for morsel in response.cookies.values()]
    assert_guarded(cookies, {"sessionid", "csrftoken", "last_account"}, secure=False)
    assert "Cross-Origin-Opener-Policy" not in response
