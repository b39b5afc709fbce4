"""Slow clients, which a worker disconnects after its timeouts."""

import socket

import pytest

from tests.server.connections import CHUNKED, Client, Connect, get, post, response_to
from tests.server.services import clear, held_requests, open_connections, release
from tests.service import Service
from tests.waiting import wait_until

pytestmark = pytest.mark.once(on="postgresql")

PARTS = {
    "nothing": b"",
    "half a header": b"GET /v1/health HTTP/1.1\r\nHost: loc",
    "half a body": post("guess", b"{", length=100),
    "half a chunk": get("/v1/pets", CHUNKED, method="POST") + b"5\r\n{",
    "half an upload": get("/admin/", b"Content-Length: 100", method="POST"),
}


def test_slow_clients_are_disconnected_and_do_not_affect_others(with_short_timeout: Service, connect: Connect) -> None:
    slow = [(name, connect(with_short_timeout)) for name in PARTS for _ in range(20)]
    for name, client in slow:
        client.send(PARTS[name])
    assert response_to(with_short_timeout, get("/v1/meta")).status == 200

    for name, client in slow:
        if name != "nothing":
            response = client.response()
            assert response.status == 400, name
            assert b"The request took too long to arrive" in response.body, name
            client.socket.shutdown(socket.SHUT_WR)
        assert client.is_closed(), name


def test_empty_line_after_a_request_begins_no_other(with_short_timeout: Service) -> None:
    with Client(with_short_timeout) as together, Client(with_short_timeout) as apart:
        assert together.response_to(get("/v1/health"), b"\r\n").status == 200
        assert apart.response_to(get("/v1/health")).status == 200
        apart.send(b"\r\n")

        assert all(client.is_closed() for client in (together, apart))


def test_client_that_sends_one_byte_at_a_time_is_disconnected(with_short_timeout: Service) -> None:
    with Client(with_short_timeout) as client:
        sent = 0
        while client.is_waiting(0.1):
            client.send(b"x")
            sent += 1
            assert sent < 100, "the client is never disconnected"

        assert client.response().status == 400


@pytest.mark.long
def test_idle_clients_and_those_that_stop_reading_or_do_not_leave_are_disconnected(
    with_short_timeout: Service, connect: Connect
) -> None:
    for sent in (get("/v1/health"), get("/export"), b"no request\r\n\r\n"):
        client = connect(with_short_timeout)
        client.send(sent)
        assert client.socket.recv(1)

    with Client(with_short_timeout) as other:
        wait_until(lambda: open_connections(other) == 1, seconds=15)


def test_request_that_is_sent_during_a_slow_request_is_served_next(with_short_timeout: Service) -> None:
    clear(with_short_timeout.log.parent)
    with Client(with_short_timeout) as client, Client(with_short_timeout) as slow:
        client.send(get("/held"))
        wait_until(lambda: held_requests(with_short_timeout.log.parent))
        client.send(get("/v1/health"))
        assert slow.response_to(b"GET /v1/he").status == 400, "the timeout of the earlier bytes has passed"

        release(with_short_timeout.log.parent)

        assert client.response().status == 200
        assert client.response().body == b'{"status":"ok"}'
