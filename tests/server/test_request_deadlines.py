"""Slow and greedy clients, which a worker cuts off at its deadlines."""

import socket

import pytest

from tests.server.connections import CHUNKED, Client, Connect, get, post
from tests.server.services import clear, held, open_connections, release
from tests.service import Service
from tests.waiting import wait_until

pytestmark = pytest.mark.once(on="postgresql")

PARTS = {
    "nothing": b"",
    "half a request line": b"GET /v1/he",
    "half a header": b"GET /v1/health HTTP/1.1\r\nHost: loc",
    "half a body": post("guess", b"{", length=100),
    "half a chunk": get("/v1/pets", CHUNKED, method="POST") + b"5\r\n{",
    "half an upload": get("/admin/", b"Content-Length: 100", method="POST"),
}


def test_slow_clients_are_cut_off_and_disturb_nobody(impatient: Service, connect: Connect) -> None:
    slow = [(name, connect(impatient)) for name in PARTS for _ in range(20)]
    for name, client in slow:
        client.send(PARTS[name])
    with Client(impatient) as other:
        other.send(get("/v1/meta"))
        assert other.answer().status == 200

    for name, client in slow:
        if name != "nothing":
            answer = client.answer()
            assert answer.status == 400, name
            assert b"The request took too long to arrive" in answer.body, name
        client.socket.shutdown(socket.SHUT_WR)
        assert client.is_closed(), name


def test_client_that_sends_a_byte_now_and_then_is_cut_off(impatient: Service) -> None:
    with Client(impatient) as client:
        client.socket.settimeout(0.1)
        sent = 0
        answer = b""
        while not answer:
            client.send(b"GET /v1/health"[sent % 14 : sent % 14 + 1])
            sent += 1
            assert sent < 100, "it may go on for ever"
            try:
                answer = client.socket.recv(1000)
            except TimeoutError:
                continue

    assert answer.startswith(b"HTTP/1.1 400 ")


def test_client_that_takes_no_more_of_a_response_is_cut_off(impatient: Service) -> None:
    with Client(impatient) as other:
        others = open_connections(other)
        with Client(impatient) as client:
            client.send(get("/export"))
            assert client.socket.recv(1000)

            wait_until(lambda: open_connections(other) == others, seconds=15)


def test_request_sent_while_a_long_one_runs_is_served_next(impatient: Service) -> None:
    clear(impatient.log.parent)
    with Client(impatient) as client, Client(impatient) as slow:
        client.send(get("/held"))
        wait_until(lambda: held(impatient.log.parent))
        client.send(get("/v1/health"))
        slow.send(b"GET /v1/he")
        assert slow.answer().status == 400, "the deadline of earlier bytes has passed by then"

        release(impatient.log.parent)

        assert client.answer().status == 200
        assert client.answer().body == b'{"status":"ok"}'
