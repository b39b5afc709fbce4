"""Clients that close or reset their connections."""

import socket

import pytest

from tests.server.connections import PET, RESET, Client, get, post, response_to
from tests.service import Service
from tests.waiting import wait_until

pytestmark = pytest.mark.once

# The number of pets of a name.
NUMBER = "SELECT count(*) FROM pets_pet WHERE name = %s"


@pytest.mark.usefixtures("no_traceback")
def test_client_that_disconnects_within_its_body_creates_no_pet(service: Service, service_key: str) -> None:
    with Client(service) as client:
        client.send(post(service_key, b'{"name":"left early"}', length=100))
    assert response_to(service, get("/v1/health")).status == 200

    assert service.execute(NUMBER, "left early") == [(0,)]


@pytest.mark.usefixtures("no_traceback")
def test_pet_is_created_even_if_the_client_disconnects_before_the_response(service: Service, service_key: str) -> None:
    with Client(service) as client:
        client.send(post(service_key, b'{"name":"left behind"}'))

    wait_until(lambda: service.execute(NUMBER, "left behind") == [(1,)])


@pytest.mark.usefixtures("no_traceback")
def test_reset_connections_do_not_affect_other_clients(service: Service, service_key: str) -> None:
    for request in (b"", b"GET /v1", get("/v1/pets"), post(service_key, PET), get("/static/admin/css/base.css")):
        for _ in range(10):
            with Client(service) as client:
                client.send(request)
                client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)

    assert response_to(service, get("/v1/health")).status == 200
