"""Connections and bodies as HTTP clients send them to a running service."""

import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.server.connections import CHUNKED, MALFORMED_CHUNK, PET, Client, assert_refused, get, post
from tests.service import Service

pytestmark = pytest.mark.once

MEGABYTES = 10 * 2**20


def test_a_connection_serves_many_requests(service: Service, service_key: str) -> None:
    with Client(service) as client:
        for number in range(100):
            client.send(post(service_key, b'{"name":"%d"}' % number))
            assert client.answer().body.endswith(b'"name":"%d"}' % number)


def test_requests_sent_at_once_are_answered_in_order(service: Service, service_key: str) -> None:
    numbers = range(40)
    with Client(service) as client:
        client.send(*(post(service_key, b'{"name":"%d"}' % number) + get("/v1/health") for number in numbers))

        answers = [(client.answer(), client.answer()) for _ in numbers]

    assert [created.body.rpartition(b":")[2] for created, _ in answers] == [b'"%d"}' % number for number in numbers]
    assert {(created.status, health.body) for created, health in answers} == {(201, b'{"status":"ok"}')}


def test_request_cut_anywhere_is_put_together(service: Service, service_key: str) -> None:
    request = post(service_key, PET)
    with Client(service) as client:
        for place in range(1, len(request), 7):
            client.send(request[:place])
            client.send(request[place:])
            assert client.answer().status == 201


def test_half_a_request_behind_a_whole_one_is_completed(service: Service, service_key: str) -> None:
    request = post(service_key, PET)
    with Client(service) as client:
        client.send(request, request[:40])
        assert client.answer().status == 201
        client.send(request[40:])
        assert client.answer().status == 201


@pytest.mark.parametrize("target", ["/v1/health", "/v1/pets", "/docs", "/static/admin/css/base.css"])
def test_head_leaves_the_connection_usable(service: Service, target: str) -> None:
    with Client(service) as client:
        client.send(get(target, method="HEAD"), get("/v1/health"))
        assert client.answer(to_head=True).headers["content-length"] != "0"
        assert client.answer().body == b'{"status":"ok"}'


# Bodies.


@pytest.mark.parametrize("head", ["declared", "chunked"])
def test_refusal_of_a_huge_body_can_be_read(service: Service, service_key: str, head: str) -> None:
    with Client(service) as client:
        if head == "declared":
            client.send(post(service_key, b"", length=MEGABYTES))
        else:
            lines = [f"X-API-Key: {service_key}".encode(), b"Content-Type: application/json"]
            client.send(get("/v1/pets", *lines, CHUNKED, method="POST"), b"%x\r\n" % MEGABYTES)
        # As most clients do: first send it all, then read.
        client.send(b"x" * MEGABYTES)

        answer = client.answer()

        assert_refused(answer)
        assert b"too large" in answer.body
        assert answer.headers["connection"] == "close"
        client.socket.shutdown(socket.SHUT_WR)
        assert client.is_closed()


def test_client_gets_100_continue_before_its_body_is_awaited(service: Service, service_key: str) -> None:
    with Client(service) as client:
        client.send(post(service_key, b"", b"Expect: 100-continue", length=len(PET)))
        assert client.answer().status == 100
        client.send(PET)
        assert client.answer().status == 201


@pytest.mark.parametrize(
    ("path", "length", "status"), [("/v1/pets", 64 * 1024 + 1, 401), ("/v1/pets", 2**40, 401), ("/v1/health", 5, 404)]
)
def test_client_gets_no_100_continue_where_nothing_is_read(
    service: Service, path: str, length: int, status: int
) -> None:
    with Client(service) as client:
        client.send(get(path, b"Expect: 100-continue", b"Content-Length: %d" % length, method="POST"))
        if path == "/v1/health":
            assert client.answer().status == 100  # this body is small enough to be received, whatever it is for
            client.send(b"x" * length)
        assert_refused(client.answer(), status)


def test_malformed_chunk_behind_the_answer_gets_no_second_one(service: Service) -> None:
    with Client(service) as client:
        client.send(get("/v1/pets", CHUNKED, method="POST"), b"11170\r\n", b"x" * 70_000)
        assert client.answer().headers["connection"] == "close"  # it is too large already
        client.send(MALFORMED_CHUNK)
        assert client.is_closed()


def test_many_clients_at_once_get_their_own_answers(service: Service, service_key: str) -> None:
    ready = threading.Barrier(20)

    def use(number: int) -> bool:
        with Client(service) as client:
            ready.wait()
            answers = []
            for turn in range(20):
                client.send(post(service_key, b'{"name":"%d-%d"}' % (number, turn)))
                answers.append(client.answer().body.endswith(b'"name":"%d-%d"}' % (number, turn)))
            return all(answers)

    with ThreadPoolExecutor(20) as pool:
        assert all(pool.map(use, range(20)))
