"""Headers and request targets with unusual spellings."""

import pytest

from tests.server.connections import assert_rejected, get, request_of, response_to
from tests.service import Service

pytestmark = pytest.mark.once


def test_api_key_in_a_header_with_underscores_is_ignored(service: Service, service_key: str) -> None:
    assert_rejected(response_to(service, get("/v1/pets", f"X_API_Key: {service_key}".encode())), 401)


@pytest.mark.parametrize("target", ["http://localhost/v1/health", "/v1/health#top", "/v1/he%61lth", "/v1/health?x#y?z"])
def test_other_spellings_of_a_url_get_the_same_response(service: Service, target: str) -> None:
    assert response_to(service, get(target)).body == b'{"status":"ok"}'


def test_upgrade_to_another_protocol_is_ignored(service: Service) -> None:
    for protocol in (b"websocket", b"h2c"):
        upgrade = get("/v1/health", b"Upgrade: " + protocol, b"Connection: Upgrade, HTTP2-Settings")
        assert response_to(service, upgrade).body == b'{"status":"ok"}'


def test_long_cookies_and_escapes_in_cookies_are_not_read() -> None:
    sent = 'a=1; b="' + '\\"' * 20 + '"; ' + "; ".join(f"n{number}=1" for number in range(4_000))

    cookies = request_of("/v1/pets", (b"cookie", sent.encode())).COOKIES

    assert (cookies["a"], cookies["b"]) == ("1", '"' * 20)
    assert "n1000" in cookies
    assert "n3999" not in cookies


def test_redirect_to_the_admin_is_no_unknown_path(service: Service) -> None:
    for target, status in (("/nowhere", 404), ("/admin", 302), ("/nowhere", 404), ("/admin", 302)):
        assert response_to(service, get(target)).status == status
