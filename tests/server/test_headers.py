"""What a header or a target may claim."""

import pytest

from tests.server.connections import Client, assert_refused, get
from tests.service import Service

pytestmark = pytest.mark.once


def test_header_with_an_underscore_is_no_key(service: Service, service_key: str) -> None:
    with Client(service) as client:
        client.send(get("/v1/pets", f"X_API_Key: {service_key}".encode()))
        assert_refused(client.answer(), 401)


@pytest.mark.parametrize("target", ["http://localhost/v1/health", "/v1/health#top", "/v1/he%61lth", "/v1/health?x#y?z"])
def test_other_spellings_of_an_address_lead_to_the_same(service: Service, target: str) -> None:
    with Client(service) as client:
        client.send(get(target))
        assert client.answer().body == b'{"status":"ok"}'


def test_asking_for_another_protocol_changes_nothing(service: Service) -> None:
    for protocol in (b"websocket", b"h2c"):
        with Client(service) as client:
            client.send(get("/v1/health", b"Upgrade: " + protocol, b"Connection: Upgrade, HTTP2-Settings"))
            assert client.answer().body == b'{"status":"ok"}'
