"""Every row of the contract (tests.contract.rows) holds for the test client and for every server.

Further tests check rules that one request cannot show.
"""

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from urllib.parse import urlsplit

import pytest
from django.conf import LazySettings
from django.test import Client

from pets.models import Pet
from petservice.apikeys.keys import PREFIX_LENGTH
from petservice.client_address import Proxies
from tests.contract.rows import ROWS
from tests.contract.rows.bodies import padded
from tests.contract.rows.row import CODES, MAX_BODY, TYPE, WRITE, Row
from tests.contract.transports import ClientTransport, Headers, Reply, SocketTransport, Transport

REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
CHUNKED = ("Transfer-Encoding", "chunked")


def assert_api_response(reply: Reply) -> None:
    """Check the headers that every response of the API has."""
    assert REQUEST_ID.fullmatch(reply.header("X-Request-ID") or "")
    assert reply.header("Cache-Control") == "no-store"
    assert reply.header("X-Content-Type-Options") == "nosniff"
    assert reply.header("Content-Type") == "application/json"
    assert reply.header("Content-Security-Policy") is None
    assert reply.header("Set-Cookie") is None
    assert reply.header("Allow") is None


def assert_failure(reply: Reply, status: int) -> None:
    """Check the status, the headers and the error envelope of a failure."""
    assert reply.status == status
    assert_api_response(reply)
    assert reply.json() == {"error": {"code": CODES[status], "message": reply.error["message"]}}
    assert reply.error["message"]


def assert_is_response_of(row: Row, reply: Reply, seed: dict[str, str]) -> None:
    assert reply.status == row.status
    assert_api_response(reply)
    if row.method == "HEAD":
        assert reply.body == b""
        return
    assert reply.header("Content-Length") == str(len(reply.body))
    if row.status in CODES:
        assert_failure(reply, row.status)
    else:
        assert "error" not in reply.json()
    if row.status == 401:
        assert "X-API-Key" in (reply.header("WWW-Authenticate") or "")
        assert not any(secret in reply.body.decode() for secret in seed.values())
    if row.check:
        row.check(reply, seed)


def assert_contract(transport: Transport, rows: list[Row]) -> None:
    """Send the request of each row, and fail with all rows that get another response."""
    wrong = []
    for row in rows:
        reply = transport.send(row.method, row.target, row.headers, row.body)
        try:
            assert_is_response_of(row, reply, transport.seed)
        except Exception as error:
            wrong.append(f"“{row.id}” got {reply.status}: {reply.body.decode(errors='replace')}\n{error!r}")

    assert not wrong, "\n".join([f"{len(wrong)} rows through {transport}", *wrong])


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
def test_each_request_gets_the_response_of_the_contract(transport: Transport, rows: list[Row]) -> None:
    assert_contract(transport, rows)


def test_limit_of_5000_digits_means_the_maximum(client_transport: ClientTransport) -> None:
    # More digits than Python's int() reads, and a longer line than plain gunicorn.
    assert len(client_transport.send("GET", "/v1/pets?limit=" + "9" * 5000, WRITE).json()) == 2


def test_head_has_the_content_length_of_get(transport: Transport) -> None:
    head, get = (transport.send(method, "/v1/pets/{pet}", WRITE) for method in ("HEAD", "GET"))

    assert head.header("Content-Length") == get.header("Content-Length") == str(len(get.body))


def test_location_leads_to_the_new_pet_and_a_repeated_request_makes_another(transport: Transport) -> None:
    created = transport.send("POST", "/v1/pets", [*WRITE, TYPE], b'{"name":"Rex","tag":"dog"}')
    location = urlsplit(created.header("Location") or "")
    fetched = transport.send("GET", location.path, WRITE)

    assert location.scheme == "http"
    assert location.path == f"/v1/pets/{created.json()['id']}"
    assert fetched.status == 200
    assert fetched.json() == created.json()
    again = transport.send("POST", "/v1/pets", [*WRITE, TYPE], b'{"name":"Rex","tag":"dog"}')
    assert again.json()["id"] > created.json()["id"]


def test_valid_request_id_is_returned_and_another_one_replaced(transport: Transport) -> None:
    def returned(sent: str, target: str = "/v1/pets") -> str:
        return transport.send("GET", target, [("X-Request-ID", sent)]).header("X-Request-ID") or ""

    for target in ("/v1/health", "/v1/pets", "/v1/nope", "/ready"):
        for sent in ("a", "A-b_c.9", "x" * 64):
            assert returned(sent, target) == sent, target
    for sent in ("", "x" * 65, "a b", "a/b", "é", "a,b", "<script>"):
        first, second = returned(sent), returned(sent)
        assert REQUEST_ID.fullmatch(first), sent
        assert first not in (sent, second)


@pytest.mark.once
@pytest.mark.parametrize(
    ("method", "target", "headers"),
    [
        ("GET", "/v1/pets?limit=%s", WRITE),
        ("GET", "/v1/pets?after=%s", WRITE),
        ("GET", "/v1/pets/%s", WRITE),
        ("GET", "/v1/%s", WRITE),
        ("GET", "/v1/pets", [("X-API-Key", "%sx")]),
        ("POST", "/v1/pets", [*WRITE, TYPE, ("Idempotency-Key", "%sé")]),
    ],
)
def test_message_repeats_only_the_beginning_of_the_input_and_no_api_key(
    client_transport: ClientTransport, method: str, target: str, headers: Headers
) -> None:
    def message_about(text: str) -> str:
        sent = [(name, value.replace("%s", text)) for name, value in headers]
        return client_transport.send(method, target.replace("%s", text), sent, b'{"name":"Rex"}').error["message"]

    message = message_about("x" * 5000)
    assert message.count("x") <= (110 if "and more" in message else 10)  # the sentence itself has a few
    for before in ("", "x", "x" * 80):  # at the beginning, within, and where it is cut off
        message = message_about(before + "{read}")
        assert client_transport.seed["read"][len("pets_test_12345678") :][:4] not in message


@pytest.mark.parametrize(
    ("target", "size"), [("/v1/pets", 100), ("/v1/pets?limit=77", 77), ("/v1/pets?limit=1001", 1000)]
)
def test_pages_contain_every_pet_once_while_pets_are_added(api: Client, target: str, size: int) -> None:
    at_start = sorted(pet.id for pet in Pet.objects.bulk_create(Pet(name=f"Pet {number}") for number in range(1100)))
    seen: list[str] = []
    page: str | None = target

    while page is not None:
        response = api.get(page)
        seen += [pet["id"] for pet in response.json()]
        link = re.fullmatch(r'<http://testserver(/v1/pets\?[^>]*)>; rel="next"', response.get("Link", ""))
        page = link and link[1]
        assert page is None or len(response.json()) == size
        api.post("/v1/pets", {"name": "Newcomer"}, content_type="application/json")

    assert seen == sorted(set(seen))
    assert seen[:1100] == at_start


# Chunked bodies exist on sockets only.


def chunked(*chunks: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in [*chunks, b""])


def test_body_in_chunks_gets_the_same_response(server_transport: SocketTransport) -> None:
    with_bodies = [row for rows in ROWS.values() for row in rows if row.body]

    assert_contract(
        server_transport,
        [replace(row, headers=[*row.headers, CHUNKED], body=chunked(row.body)) for row in with_bodies],
    )


def test_body_of_64_kib_in_chunks_of_one_byte_is_read(server_transport: SocketTransport) -> None:
    chunks = chunked(*(bytes([byte]) for byte in padded(MAX_BODY)))

    reply = server_transport.send("POST", "/v1/pets", [*WRITE, TYPE, CHUNKED], chunks)

    assert reply.status == 201
    assert reply.json() == {"id": reply.json()["id"], "name": "Rex"}


REX = b'{"name":"Rex"}'


@pytest.mark.parametrize("server_transport", ["gunicorn"], indirect=True)
@pytest.mark.parametrize(
    ("header", "body"),
    [
        (("Content-Length", "100"), REX),
        (CHUNKED, b"ff\r\n" + REX),
        (CHUNKED, b"e\r\n%s\r\n" % REX),
        (CHUNKED, b"zz\r\n{}\r\n0\r\n\r\n"),
        (CHUNKED, b"e\r\n%sXX0\r\n\r\n" % REX),
    ],
    ids=["length", "within a chunk", "before the last chunk", "no size", "longer than its size"],
)
def test_incomplete_or_malformed_body_is_rejected(
    server_transport: SocketTransport, header: tuple[str, str], body: bytes
) -> None:
    """tests/server has those to `serve`, which sends no response to an incomplete body."""
    reply = server_transport.send("POST", "/v1/pets", [*WRITE, TYPE, header], body, ends=True)

    assert_failure(reply, 400)


# PETSERVICE_REQUIRE_HTTPS.


@pytest.mark.parametrize("target", ["/v1/pets", "/v1/store/inventory", "/v1/nope", "/openapi.json"])
def test_plain_http_is_rejected_before_the_key_is_looked_up(
    client_transport: ClientTransport,
    settings: LazySettings,
    django_assert_num_queries: Callable[[int], AbstractContextManager[object]],
    target: str,
) -> None:
    settings.REQUIRE_HTTPS = True
    settings.TRUSTED_PROXIES = Proxies.parse("")

    for key in ("{write}", "{revoked}", "{foreign}", "{unknown}"):
        with django_assert_num_queries(0):
            # The client is no trusted proxy, so its second header changes nothing.
            reply = client_transport.send("GET", target, [("X-API-Key", key), ("X-Forwarded-Proto", "https")])

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
