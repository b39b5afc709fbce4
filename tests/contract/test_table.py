"""Every row of the contract (tests.contract.rows) holds for the test client and for every server.

Further tests check rules that one request cannot show.
"""

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from urllib.parse import urlsplit

import pytest
from django.conf import LazySettings

from petservice.apikeys.keys import PREFIX_LENGTH
from petservice.client_address import Proxies
from tests.contract.rows import ROWS
from tests.contract.rows.bodies import padded
from tests.contract.rows.row import CODES, MAX_BODY, READ, TYPE, WRITE, Row
from tests.contract.transports import ClientTransport, Headers, Reply, SocketTransport, Transport

REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
CHUNKED = ("Transfer-Encoding", "chunked")


def assert_api_response(reply: Reply) -> None:
    """Check the headers that every response of the API has."""
    assert REQUEST_ID.fullmatch(reply.header("X-Request-ID") or "")
    assert reply.header("Cache-Control") == "no-store"
    assert reply.header("X-Content-Type-Options") == "nosniff"
    assert reply.header("Content-Type") == "application/json"
    assert reply.header("Set-Cookie") is None
    assert reply.header("Allow") is None


def assert_failure(reply: Reply, status: int) -> None:
    """Check the status, the headers and the error envelope of a failure."""
    assert reply.status == status
    assert_api_response(reply)
    assert reply.json() == {"error": {"code": CODES[status], "message": reply.error["message"]}}
    assert reply.error["message"]


def assert_gets_its_response(transport: Transport, row: Row) -> None:
    """Send the request of a row, and check its response."""
    reply = transport.send(row.method, row.target, row.headers, row.body)

    try:
        assert_is_response_of(row, reply, transport.seed)
    except AssertionError as error:
        error.add_note(f"Row “{row.id}” through {transport} got {reply.status}: {reply.body.decode(errors='replace')}")
        raise


def assert_is_response_of(row: Row, reply: Reply, seed: dict[str, str]) -> None:
    assert reply.status == row.status
    assert_api_response(reply)
    if row.method == "HEAD":
        assert reply.body == b""
        return
    assert reply.header("Content-Length") == str(len(reply.body))
    if row.code is None:
        assert "error" not in reply.json()
    else:
        assert reply.json() == {"error": {"code": row.code, "message": reply.error["message"]}}
        assert reply.error["message"]
    if row.check:
        row.check(reply, seed)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_row_gets_the_response_of_the_contract_from_the_test_client(
    client_transport: ClientTransport, row: Row
) -> None:
    assert_gets_its_response(client_transport, row)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_row_gets_the_response_of_the_contract_from_every_server(
    server_transports: dict[str, SocketTransport], row: Row
) -> None:
    for transport in server_transports.values():
        assert_gets_its_response(transport, row)


def test_limit_of_5000_digits_means_the_maximum(client_transport: ClientTransport) -> None:
    reply = client_transport.send("GET", "/v1/pets?limit=" + "9" * 5000, WRITE)

    assert reply.status == 200
    assert len(reply.json()) == 2


def test_an_unknown_path_does_not_delete_the_session_of_a_page(transport: Transport) -> None:
    reply = transport.send("GET", "/nowhere", [("Cookie", "sessionid=short")])

    assert_failure(reply, 404)


def test_head_has_the_content_length_of_get(transport: Transport) -> None:
    head, get = (transport.send(method, "/v1/pets/{pet}", WRITE) for method in ("HEAD", "GET"))

    assert head.header("Content-Length") == get.header("Content-Length") == str(len(get.body))
    assert not head.body


def test_location_leads_to_the_new_pet(transport: Transport) -> None:
    created = transport.send("POST", "/v1/pets", [*WRITE, TYPE], b'{"name":"Rex","tag":"dog"}')
    location = urlsplit(created.header("Location") or "")
    fetched = transport.send("GET", location.path, WRITE)

    assert location.scheme == "http"
    assert location.path == f"/v1/pets/{created.json()['id']}"
    assert fetched.status == 200
    assert fetched.json() == created.json()


def test_repeated_create_makes_another_pet(transport: Transport) -> None:
    first, second = (transport.send("POST", "/v1/pets", [*WRITE, TYPE], b'{"name":"Rex"}') for _ in range(2))

    assert first.json()["id"] < second.json()["id"]


def test_malformed_mistyped_and_unknown_keys_get_the_same_response(transport: Transport) -> None:
    sent = ["guess", "", "{unknown}", "{mistyped}", "{write}x", "pets_test_" + "é" * 49]

    replies = [transport.send("GET", "/v1/pets", [("X-API-Key", key)]) for key in sent]

    assert len({(reply.status, reply.body, reply.header("WWW-Authenticate")) for reply in replies}) == 1
    assert replies[0].status == 401


@pytest.mark.parametrize("target", ["/v1/health", "/v1/pets", "/v1/nope", "/ready"])
@pytest.mark.parametrize("sent", ["a", "A-b_c.9", "x" * 64])
def test_valid_request_id_is_returned(transport: Transport, target: str, sent: str) -> None:
    assert transport.send("GET", target, [("X-Request-ID", sent)]).header("X-Request-ID") == sent


@pytest.mark.parametrize("sent", ["", "x" * 65, "a b", "a/b", "é", "a,b", "<script>"])
def test_invalid_request_id_is_replaced(transport: Transport, sent: str) -> None:
    headers = [("X-Request-ID", sent)]

    first, second = (transport.send("GET", "/v1/pets", headers).header("X-Request-ID") or "" for _ in range(2))

    assert REQUEST_ID.fullmatch(first)
    assert first not in (sent, second)


# Chunked bodies exist on sockets only.


def chunked(*chunks: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in [*chunks, b""])


@pytest.mark.parametrize("size", [MAX_BODY, 1])
def test_chunked_body_of_64_kib_is_read(server_transport: SocketTransport, size: int) -> None:
    body = padded(MAX_BODY)
    chunks = chunked(*(body[begin : begin + size] for begin in range(0, MAX_BODY, size)))

    reply = server_transport.send("POST", "/v1/pets", [*WRITE, TYPE, CHUNKED], chunks)

    assert reply.status == 201
    assert reply.json() == {"id": reply.json()["id"], "name": "Rex"}


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(chunked(padded(MAX_BODY + 1)), id="too large"),
        pytest.param(chunked(*[b" " * 1000] * 1000), id="much too large"),
        pytest.param(chunked(), id="empty"),
        pytest.param(chunked(b"{"), id="not JSON"),
        pytest.param(b"zz\r\n{}\r\n0\r\n\r\n", id="size is no number"),
        pytest.param(b'-e\r\n{"name":"Rex"}\r\n0\r\n\r\n', id="size is negative"),
        pytest.param(b'e\r\n{"name":"Rex"}XX0\r\n\r\n', id="chunk is longer than its size"),
    ],
)
def test_invalid_chunked_body_is_rejected(server_transport: SocketTransport, body: bytes) -> None:
    assert_failure(server_transport.send("POST", "/v1/pets", [*WRITE, TYPE, CHUNKED], body), 400)


@pytest.mark.parametrize(
    ("target", "headers", "status"),
    [
        ("/v1/pets", [TYPE], 401),
        ("/v1/pets", [*READ, TYPE], 403),
        ("/v1/pets", WRITE, 400),
        ("/v1/nope", [*WRITE, TYPE], 404),
        ("/v1/store/inventory", [*WRITE, TYPE], 404),
    ],
)
def test_chunked_body_does_not_change_the_order_of_checks(
    server_transport: SocketTransport, target: str, headers: Headers, status: int
) -> None:
    assert_failure(server_transport.send("POST", target, [*headers, CHUNKED], chunked(b'{"name":"Rex"}')), status)


@pytest.mark.parametrize(
    ("header", "body"),
    [
        pytest.param(("Content-Length", "100"), b'{"name":"Rex"}', id="length"),
        pytest.param(CHUNKED, b'ff\r\n{"name":"Rex"}', id="within a chunk"),
        pytest.param(CHUNKED, b'e\r\n{"name":"Rex"}\r\n', id="before the last chunk"),
    ],
)
def test_incomplete_body_is_rejected(wsgi_transport: SocketTransport, header: tuple[str, str], body: bytes) -> None:
    """`serve` is left out, because it sends no response to such a client (see tests/server)."""
    reply = wsgi_transport.send("POST", "/v1/pets", [*WRITE, TYPE, header], body, ends=True)

    assert_failure(reply, 400)


# PETSERVICE_REQUIRE_HTTPS.


@pytest.mark.parametrize("key", ["write", "revoked", "foreign", "unknown"])
@pytest.mark.parametrize("target", ["/v1/pets", "/v1/store/inventory", "/v1/nope", "/openapi.json"])
def test_plain_http_is_rejected_before_the_key_is_looked_up(
    client_transport: ClientTransport,
    settings: LazySettings,
    django_assert_num_queries: Callable[[int], AbstractContextManager[object]],
    key: str,
    target: str,
) -> None:
    settings.REQUIRE_HTTPS = True
    settings.TRUSTED_PROXIES = Proxies.parse("")

    with django_assert_num_queries(0):
        # The client is no trusted proxy, so its second header changes nothing.
        headers = [("X-API-Key", client_transport.seed[key]), ("X-Forwarded-Proto", "https")]
        reply = client_transport.send("GET", target, headers)

    assert_failure(reply, 403)
    assert "HTTPS" in reply.error["message"]
    assert reply.header("Location") is None


@pytest.mark.parametrize("sent", ["{write}", "{revoked}", "{foreign}", "", "nonsense\r\n", "pets_test_" + "x" * 49])
def test_only_a_real_key_that_is_sent_over_plain_http_is_logged_and_by_its_prefix(
    client_transport: ClientTransport, settings: LazySettings, caplog: pytest.LogCaptureFixture, sent: str
) -> None:
    settings.REQUIRE_HTTPS = True
    plain = sent.format(**client_transport.seed)

    client_transport.send("GET", "/v1/pets", [("X-API-Key", plain)])

    lines = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert [line.partition("rotate it: ")[2] for line in lines] == ([plain[:PREFIX_LENGTH]] if plain != sent else [])


@pytest.mark.parametrize("target", ["/v1/health", "/ready"])
def test_probes_work_over_plain_http(client_transport: ClientTransport, settings: LazySettings, target: str) -> None:
    settings.REQUIRE_HTTPS = True

    assert client_transport.send("GET", target, [("Host", "10.0.0.7")]).status == 200
