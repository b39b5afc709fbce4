"""Requests that the server rejects before a view is called, because they are malformed or exceed a limit."""

import re
import socket

import pytest

from petservice.api.errors import MESSAGES
from petservice.server.limits import REQUEST_TIMEOUT
from tests.contract.test_table import assert_failure
from tests.server.connections import CHUNKED, MALFORMED_CHUNK, Client, get, response_to
from tests.service import ROOT, Service
from tests.waiting import wait_until

pytestmark = pytest.mark.once


# A part of the head and a body that the server rejects, and what causes it.
REJECTED = {
    "long header": (b"X: " + b"x" * 9000 + b"\r\n\r\n", b""),
    "chunk": (CHUNKED + b"\r\n\r\n", MALFORMED_CHUNK),
}


@pytest.mark.parametrize("parts", REJECTED.values(), ids=REJECTED)
def test_rejected_head_gets_no_body(service: Service, parts: tuple[bytes, bytes]) -> None:
    with Client(service) as client:
        response = client.response_to(get("/v1/health", method="HEAD")[:-2], *parts, to_head=True)
        client.socket.shutdown(socket.SHUT_WR)

        assert response.status == 400
        assert int(response.header("Content-Length")) > 0
        assert client.is_closed()


@pytest.mark.parametrize("path", ["/v1/pets", "/admin/login/"])
def test_error_response_to_a_malformed_chunk_has_the_id_of_the_request_that_is_being_handled(
    service: Service, path: str
) -> None:
    head = get(path, CHUNKED, b"Expect: 100-continue", b"X-Request-ID: mine-3", method="POST")
    with Client(service) as client:
        assert client.response_to(head).status == 100

        response = client.response_to(MALFORMED_CHUNK)

        assert_failure(response, 400)
        assert response.header("X-Request-ID") == "mine-3"
        assert client.is_closed()


@pytest.mark.parametrize("is_pipelined", [False, True], ids=["after the response", "before the response"])
def test_error_response_to_a_second_request_has_a_new_id(service: Service, is_pipelined: bool) -> None:
    first, second = get("/v1/health", b"X-Request-ID: mine-4"), b"no HTTP\r\n\r\n"
    with Client(service) as client:
        assert client.response_to(first, second if is_pipelined else b"").header("X-Request-ID") == "mine-4"
        response = client.response_to(b"" if is_pipelined else second)
        assert_failure(response, 400)
        assert response.header("X-Request-ID") != "mine-4"
        assert client.is_closed()


# Limits of the parser: 8,190 bytes per line and 64 headers.

ENDLESS = b"x" * 70_000
UNBOUNDED = {
    "request target": b"GET /" + ENDLESS,
    "header": b"GET / HTTP/1.1\r\nX: " + ENDLESS,
    "headers": b"GET / HTTP/1.1\r\n" + b"X: x\r\n" * 20_000,
    "empty lines": b"\r\n" * 100_000,
    "chunk extension": get("/v1/pets", CHUNKED, method="POST") + b"3;" + ENDLESS,
    "chunk size": get("/v1/pets", CHUNKED, method="POST") + b"0" * 70_000,
    "trailers": get("/v1/pets", CHUNKED, method="POST") + b"0\r\n" + b"X: x\r\n" * 20_000,
    "trailer": get("/v1/pets", CHUNKED, method="POST") + b"0\r\nX: " + ENDLESS,
}


@pytest.mark.parametrize("sent", UNBOUNDED.values(), ids=UNBOUNDED)
def test_endless_request_is_rejected_and_the_response_to_chunks_mentions_them(service: Service, sent: bytes) -> None:
    with Client(service) as client:
        client.socket.settimeout(5)  # less than the timeout of a request
        response = client.response_to(sent)
        assert_failure(response, 400)
        assert b"chunk" in response.body or CHUNKED not in sent
        assert response.header("Connection") == "close"
        assert client.is_closed()


def test_message_about_a_slow_request_states_the_timeout() -> None:
    assert f"within {REQUEST_TIMEOUT} seconds" in MESSAGES[408]


def test_as_many_headers_are_accepted_as_the_guide_says_and_as_long(service: Service) -> None:
    guide = (ROOT / "petservice/docs/api.md").read_text()
    found = re.search(r"headers \| (\d+), each at most ([\d,]+) bytes", guide)
    number, size = int(found[1]), int(found[2].replace(",", ""))
    longest = [(b"X-%d: " % header).ljust(size, b"x") for header in range(number - 1)]  # and Host
    with Client(service) as client:
        assert client.response_to(get("/v1/health", *longest)).status == 200
        assert_failure(client.response_to(get("/v1/health", *longest, b"X: x")), 400)
    assert_failure(response_to(service, get("/v1/health", longest[0] + b"x")), 400)


def test_request_without_a_valid_target_gets_its_own_id(service: Service) -> None:
    response = response_to(service, get("http://[v]", b"X-Request-ID: mine-5"))

    assert_failure(response, 400)
    assert response.header("X-Request-ID") == "mine-5"


@pytest.mark.parametrize(
    ("line", "cause"),
    [(b"Content-Length: x", "Content-Length"), (b"X: " + b"x" * 9000, "limit"), (b"X Y: z", "header")],
)
def test_rejection_of_invalid_http_is_logged_with_its_cause(service: Service, line: bytes, cause: str) -> None:
    request_id = response_to(service, get("/v1/health", line)).header("X-Request-ID")

    def logged() -> list[str]:
        return [one for one in service.log.read_text().splitlines() if f"[{request_id}]" in one and "WARNING" in one]

    wait_until(logged)
    assert cause in logged()[0]
    assert len(logged()[0]) < 300
