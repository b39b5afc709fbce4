"""Connections as clients use and misuse them, on a running service."""

import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.server.connections import Answer, Client, get, post
from tests.service import Service
from tests.waiting import wait_until

pytestmark = pytest.mark.once

PET = b'{"name":"Rex"}'
MEGABYTES = 10 * 2**20
CHUNKED = b"Transfer-Encoding: chunked"


def chunk(content: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(content), content)


def assert_refused(answer: Answer, status: int = 400) -> None:
    assert answer.status == status
    assert b'{"error":{"code":' in answer.body
    assert answer.headers["content-type"] == "application/json"


def names(service: Service, key: str) -> list[str]:
    with service.client(key) as client:
        pets, page = [], "/v1/pets?limit=1000"
        while page:
            response = client.get(page)
            pets += response.json()
            page = response.links.get("next", {}).get("url", "")
        return [pet["name"] for pet in pets]


@pytest.fixture
def no_traceback(service: Service) -> object:
    """Nothing is logged as a crash during the test."""
    before = service.log.read_text().count("Traceback")
    yield
    assert service.log.read_text().count("Traceback") == before


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


# Clients that leave.


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


@pytest.mark.parametrize(
    "parts",
    [(b"Expect: a-miracle\r\n\r\n", b""), (CHUNKED + b"\r\n\r\n", chunk(b"x" * 70_000))],
    ids=["expectation", "upload"],
)
def test_what_is_refused_before_it_is_called_keeps_its_request_id(service: Service, parts: tuple[bytes, bytes]) -> None:
    with Client(service) as client:
        client.send(get("/admin/login/", b"X-Request-ID: mine-1", method="POST")[:-2], *parts)

        answer = client.answer()

        assert (answer.status, answer.headers["x-request-id"]) == (400, "mine-1")


MALFORMED_CHUNK = b"no chunk\r\n"


@pytest.mark.parametrize("path", ["/v1/pets", "/admin/login/"])
@pytest.mark.parametrize("is_separate", [False, True], ids=["with the head", "after the head"])
def test_refusal_of_a_malformed_chunk_has_the_id_that_the_client_sent(
    service: Service, path: str, is_separate: bool
) -> None:
    head = get(path, CHUNKED, b"Expect: 100-continue", b"X-Request-ID: mine-2", method="POST")
    with Client(service) as client:
        if is_separate:
            client.send(head)
            assert client.answer().status == 100  # so the request is being handled
            client.send(MALFORMED_CHUNK)
        else:
            client.send(head, MALFORMED_CHUNK)

        answer = client.answer()

        assert_refused(answer)
        assert answer.headers["x-request-id"] == "mine-2"
        assert client.is_closed()


@pytest.mark.parametrize("is_pipelined", [False, True], ids=["after the response", "before the response"])
def test_refusal_of_a_second_request_has_an_id_of_its_own(service: Service, is_pipelined: bool) -> None:
    first, second = get("/v1/health", b"X-Request-ID: mine-3"), b"no HTTP\r\n\r\n"
    with Client(service) as client:
        if is_pipelined:
            client.send(first, second)
            answers = [client.answer(), client.answer()]
        else:
            client.send(first)
            answers = [client.answer()]
            client.send(second)
            answers.append(client.answer())

        assert answers[0].headers["x-request-id"] == "mine-3"
        assert_refused(answers[1])
        assert answers[1].headers["x-request-id"] != "mine-3"
        assert client.is_closed()


# What the parser refuses, as its limits are: 8,190 bytes for a line, 64 headers.

WITHOUT_END = b"x" * 70_000
UNBOUNDED = {
    "address": b"GET /" + WITHOUT_END,
    "header": b"GET / HTTP/1.1\r\nX: " + WITHOUT_END,
    "headers": b"GET / HTTP/1.1\r\n" + b"X: x\r\n" * 20_000,
    "long headers": b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: %s\r\n" % (n, WITHOUT_END[:8000]) for n in range(70)),
    "empty lines": b"\r\n" * 100_000,
    "chunk extension": get("/v1/pets", CHUNKED, method="POST") + b"3;" + WITHOUT_END,
    "chunk size": get("/v1/pets", CHUNKED, method="POST") + b"0" * 70_000,
    "chunk beyond its size": get("/v1/pets", CHUNKED, method="POST") + b"3\r\nabc" + WITHOUT_END,
    "trailers": get("/v1/pets", CHUNKED, method="POST") + b"0\r\n" + b"X: x\r\n" * 20_000,
    "trailer": get("/v1/pets", CHUNKED, method="POST") + b"0\r\nX: " + WITHOUT_END,
}


@pytest.mark.parametrize("sent", UNBOUNDED.values(), ids=UNBOUNDED)
def test_what_has_no_end_is_refused(service: Service, sent: bytes) -> None:
    with Client(service) as client:
        client.socket.settimeout(5)  # sooner than a request that takes too long
        client.send(sent)
        answer = client.answer()
        assert_refused(answer)
        assert answer.headers["connection"] == "close"
        assert client.is_closed()


def test_as_many_headers_as_there_may_be_are_taken(service: Service) -> None:
    longest = [b"X-%d: %s" % (number, b"x" * 8_000) for number in range(63)]  # and Host
    with Client(service) as client:
        client.send(get("/v1/health", *longest))
        assert client.answer().status == 200
        client.send(get("/v1/health", *longest, b"X: x"))
        assert_refused(client.answer())


@pytest.mark.usefixtures("no_traceback")
@pytest.mark.parametrize("method", ["GET", "CONNECT"])
@pytest.mark.parametrize("target", ["http://[", "http://[]", "http://[::1", "http://[v]"])
def test_target_that_is_no_address_is_refused(service: Service, target: str, method: str) -> None:
    with Client(service) as client:
        client.send(get(target, b"X-Request-ID: mine-4", method=method))
        answer = client.answer()
        assert_refused(answer)
        assert answer.headers["x-request-id"] == "mine-4"


# What a header may claim.


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


def test_refused_request_leaves_no_key_in_the_log(service: Service, service_key: str) -> None:
    for request in (f"GET /v1/pets?{service_key}", f"X-API-Key: {service_key}", f"GET / HTTP/1.1\r\n{service_key}"):
        with Client(service) as client:
            client.send(request.encode(), b"\r\n\r\n")
            assert_refused(client.answer())
            client.socket.shutdown(socket.SHUT_WR)
            assert client.is_closed()

    assert service_key not in service.log.read_text()


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
