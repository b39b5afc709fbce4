"""The smuggling corpus over real sockets: one request never becomes two, and none gets a 5xx response."""

import re
import socket

import pytest

from tests.contract.test_table import assert_failure
from tests.contract.transports import reply_of
from tests.server.connections import RESET, Client, get
from tests.server.smuggling import CORPUS, HIDDEN, KEY, Result, Row, head, row
from tests.service import Service

pytestmark = pytest.mark.once

STATUS = re.compile(rb"HTTP/1\.[01] (\d{3}) [A-Z]")
# The request after a row on the same connection. It ends the connection, so that the client need not wait.
NEXT = get("/v1/health", b"X-Request-ID: next", b"Connection: close")


def exchange(service: Service, key: str, row: Row) -> bytes:
    """Send a row and the next request, and return everything that the service sends on the connection."""
    with Client(service) as client:
        client.socket.settimeout(10)  # less than the timeout of an incomplete request
        client.send(row.request.replace(KEY, key.encode()), b"" if row.end else NEXT)
        if row.end == "reset":
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            return b""
        if row.end == "half-close":
            client.socket.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: client.socket.recv(65536), b""))


def assert_is_as_expected(row: Row, received: bytes) -> None:
    statuses = [int(status) for status in STATUS.findall(received) if status >= b"200"]
    is_next_served = b"X-Request-ID: next" in received
    assert all(status < 500 for status in statuses)
    match row.result:
        case Result.REJECTED:
            assert (len(statuses), is_next_served) == (1, False)
            assert_failure(reply_of(received), 400)
        case Result.SERVED:
            assert (len(statuses), is_next_served) == (2, True)
        case Result.ENDED:
            assert (len(statuses), is_next_served) == (1, False)
            assert b"\r\nConnection: close\r\n" in received
        case Result.ALONE:
            assert len(statuses) == (2 if is_next_served else 1)
        case Result.CUT:
            assert len(statuses) <= 1


def test_one_request_never_becomes_two(service: Service, service_key: str) -> None:
    assert len({row.pet for row in CORPUS}) == len(CORPUS) >= 200
    wrong = []
    for one in CORPUS:
        received = exchange(service, service_key, one)
        try:
            assert_is_as_expected(one, received)
        except Exception as error:
            wrong.append(f"{one.request[:500]!r} got {received!r}\n{error!r}")

    assert not wrong, "\n".join(wrong)
    created = {name for (name,) in service.execute("SELECT name FROM pets_pet")}
    assert [row.request for row in CORPUS if row.pet in created] == []


def test_hidden_request_is_detected_if_it_runs(service: Service, service_key: str) -> None:
    noticed = row(Result.SERVED, head("GET", "/v1/health") + HIDDEN)

    received = exchange(service, service_key, noticed)

    assert STATUS.findall(received) == [b"200", b"201", b"200"]
    assert (noticed.pet,) in service.execute("SELECT name FROM pets_pet")
