"""Clients cannot forge log lines, and the log contains no API keys."""

import pytest

from petservice.monitoring.redaction import without_keys
from tests.monitoring.observed import Observed
from tests.monitoring.requests import line_of
from tests.server.connections import HOST, get, response_to
from tests.waiting import wait_until

pytestmark = pytest.mark.once

FORGED = '{"logger": "petservice.requests", "forged": true}'
INJECTIONS = [
    f"%0a{FORGED}",
    f"%0d%0a{FORGED}",
    f"%e2%80%a8{FORGED}",
    f"\u2028{FORGED}",
    f"\x85{FORGED}",
    f"\t{FORGED}",
    '","forged":true,"x":"',
    f"\\n{FORGED}",
    "%00%1b[2J",
    "\ud800",
]


@pytest.mark.parametrize("text", INJECTIONS, ids=ascii)
@pytest.mark.parametrize(
    "where", ["path", "unknown path", "query", "X-Request-ID", "User-Agent", "X-Forwarded-For", "X-API-Key", "Host"]
)
def test_client_input_cannot_forge_a_log_line_or_a_part_of_one(observed: Observed, where: str, text: str) -> None:
    sent = text.encode("utf-8", "surrogatepass")
    path = sent.replace(b" ", b"%20")
    target = {
        "path": b"/v1/pets/" + path,
        "unknown path": b"/" + path,
        "query": b"/v1/pets?limit=" + sent.replace(b" ", b"+"),
    }
    header = b"" if where in target else where.encode() + b": " + sent + b"\r\n"
    host = b"" if where == "Host" else HOST
    head = b"GET " + target.get(where, b"/v1/pets") + b" HTTP/1.1\r\n"

    line = line_of(observed, head + host + header + b"\r\n")

    assert line["status"] in (200, 400, 401, 404)
    assert "forged" not in observed.service.log.read_text()


def test_api_key_does_not_appear_in_the_log(observed: Observed) -> None:
    key = observed.key.encode()
    request = get("/v1/pets", b"X-API-Key: " + key, b"X-Request-ID: " + key)
    assert response_to(observed.service, request).header("X-Request-ID") == observed.key
    wait_until(lambda: any(line["request_id"] == f"{observed.key[:18]}…" for line in observed.requests()))
    for parts in (
        get(f"/v1/pets/{observed.key}?limit={observed.key}", b"User-Agent: " + key, b"Authorization: " + key),
        get(f"/admin/{observed.key}?q={observed.key}", b"X-Forwarded-For: " + key, b"Cookie: sessionid=" + key),
        get("/v1/pets", key + b": " + key, method=observed.key),
        get(f"/{observed.key}", b"Host: " + key),
        *(key + b"\r\n\r\n", b"X-API-Key: " + key + b"\r\n\r\n", b"GET / HTTP/1.1\r\n" + key + b"\r\n\r\n"),
    ):
        line_of(observed, parts)

    log = observed.service.log.read_text()
    assert observed.key[:18] in log
    assert observed.key[18:] not in log


def test_the_token_of_a_link_does_not_appear_in_the_log() -> None:
    token = f"dif0dp-{'0123456789abcdef' * 2}"
    line = without_keys(f'Internal Server Error: "/admin/set-password/MQ/{token}/" of {token}')

    assert line == 'Internal Server Error: "/admin/set-password/MQ/dif0dp-…/" of dif0dp-…'
