"""Connections and bodies as HTTP clients send them to a running service."""

import socket

import pytest

from tests.contract.test_table import assert_failure
from tests.server.connections import CHUNKED, Client, get, post, response_to
from tests.service import Service
from tests.waiting import wait_until

pytestmark = pytest.mark.once

TEN_MEBIBYTES = 10 * 2**20


def test_requests_get_responses_in_their_order_however_they_are_split(service: Service, service_key: str) -> None:
    numbers = range(40)
    sent = b"".join(post(service_key, b'{"name":"%d"}' % number) + get("/v1/health") for number in numbers)
    for size in (len(sent), 7):
        with Client(service) as client:
            for position in range(0, len(sent), size):
                client.send(sent[position : position + size])

            responses = [(client.response(), client.response()) for _ in numbers]

        names = [created.body.rpartition(b":")[2] for created, _ in responses]
        assert names == [b'"%d"}' % number for number in numbers]
        assert {(created.status, health.body) for created, health in responses} == {(201, b'{"status":"ok"}')}


@pytest.mark.parametrize("target", ["http://localhost/v1/health", "/v1/health#top", "/v1/he%61lth", "/v1/health?x#y?z"])
def test_other_spellings_of_a_url_get_the_same_response(service: Service, target: str) -> None:
    assert response_to(service, get(target)).body == b'{"status":"ok"}'


# Bodies.


@pytest.mark.parametrize("head", ["declared", "chunked"])
def test_error_response_to_a_huge_body_can_be_read(service: Service, service_key: str, head: str) -> None:
    with Client(service) as client:
        if head == "declared":
            client.send(post(service_key, b"", length=TEN_MEBIBYTES))
        else:
            lines = [f"X-API-Key: {service_key}".encode(), b"Content-Type: application/json"]
            client.send(get("/v1/pets", *lines, CHUNKED, method="POST"), b"%x\r\n" % TEN_MEBIBYTES)
        # Most clients send the complete body before they read.
        client.send(b"x" * TEN_MEBIBYTES)

        response = client.response()

        assert_failure(response, 400)
        assert b"too large" in response.body
        assert response.header("Connection") == "close"
        client.socket.shutdown(socket.SHUT_WR)
        assert client.is_closed()


@pytest.mark.parametrize(
    ("path", "length", "status"), [("/v1/pets", 64 * 1024 + 1, 401), ("/v1/pets", 2**40, 401), ("/v1/health", 5, 404)]
)
def test_client_gets_no_100_continue_for_a_body_that_is_not_read(
    service: Service, path: str, length: int, status: int
) -> None:
    with Client(service) as client:
        client.send(get(path, b"Expect: 100-continue", b"Content-Length: %d" % length, method="POST"))
        if path == "/v1/health":
            assert client.response().status == 100  # the service receives such a small body for any path
            client.send(b"x" * length)
        assert_failure(client.response(), status)


# Clients that leave.

# The number of pets of a name.
NUMBER = "SELECT count(*) FROM pets_pet WHERE name = %s"


def test_pet_is_created_if_its_client_leaves_after_the_request_and_not_if_it_leaves_within(
    service: Service, service_key: str
) -> None:
    def leave_after() -> bool:
        with Client(service) as client:
            client.send(post(service_key, b'{"name":"left after"}'))
        return service.execute(NUMBER, "left after") > [(0,)]

    before = service.log.read_text().count("Traceback")
    with Client(service) as client:
        client.send(post(service_key, b'{"name":"left within"}', length=100))

    wait_until(leave_after)  # not the first time, if Django gets the request before a worker has checked the database
    assert service.execute(NUMBER, "left within") == [(0,)]
    assert service.log.read_text().count("Traceback") == before
