"""Clients that close or reset their connections."""

import socket

import pytest

from tests.server.connections import PET, Client, get, post
from tests.service import Service
from tests.waiting import wait_until

pytestmark = pytest.mark.once


def names(service: Service, key: str) -> list[str]:
    with service.client(key) as client:
        pets, page = [], "/v1/pets?limit=1000"
        while page:
            response = client.get(page)
            pets += response.json()
            page = response.links.get("next", {}).get("url", "")
        return [pet["name"] for pet in pets]


@pytest.mark.usefixtures("no_traceback")
def test_client_that_leaves_within_its_body_creates_nothing(service: Service, service_key: str) -> None:
    with Client(service) as client:
        client.send(post(service_key, b'{"name":"left early"}', length=100))
    with Client(service) as client:
        client.send(get("/v1/health"))
        assert client.answer().status == 200

    assert "left early" not in names(service, service_key)


@pytest.mark.usefixtures("no_traceback")
def test_pet_of_a_client_that_does_not_wait_for_its_answer_is_created(service: Service, service_key: str) -> None:
    with Client(service) as client:
        client.send(post(service_key, b'{"name":"left behind"}'))

    wait_until(lambda: "left behind" in names(service, service_key))


@pytest.mark.usefixtures("no_traceback")
def test_clients_that_reset_their_connections_harm_nobody(service: Service, service_key: str) -> None:
    linger_not = b"\1\0\0\0\0\0\0\0"  # close by a reset
    for request in (b"", b"GET /v1", get("/v1/pets"), post(service_key, PET), get("/static/admin/css/base.css")):
        for _ in range(10):
            with Client(service) as client:
                client.send(request)
                client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger_not)

    with Client(service) as client:
        client.send(get("/v1/health"))
        assert client.answer().status == 200
