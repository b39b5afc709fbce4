"""Made-up requests, byte for byte: none is answered with a failure of the service, and none goes unanswered.

`FUZZ_REQUESTS=100000 python -m pytest tests/server/test_fuzz.py` sends more of them, in about a quarter of an hour.
"""

import os
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.databases import migrated_database_url
from tests.server.services import planted_service, workers
from tests.service import Service, log_in

pytestmark = pytest.mark.once

REQUESTS = int(os.environ.get("FUZZ_REQUESTS", 1500))
PASSWORD = "correct horse"
# What the memory of a worker may differ by from one moment to the next, in KiB.
NOISE = 16 * 1024

PATHS = [
    *(b"/", b"/docs", b"/openapi.json", b"/ready", b"/static/backoffice/admin.css", b"/static/", b"/nowhere"),
    *(b"/v1/health", b"/v1/pets", b"/v1/pets/01890a5d-ac96-774b-bcce-b302099a8057", b"/v1/store/inventory"),
    *(b"/admin", b"/admin/", b"/admin/login/", b"/admin/jsi18n/", b"/admin/password_change/"),
    *(b"/admin/pets/pet/", b"/admin/pets/pet/add/", b"/admin/pets/pet/tags/", b"/admin/pets/pet/import/"),
    *(b"/admin/pets/pet/01890a5d-ac96-774b-bcce-b302099a8057/change/", b"/admin/store/inventoryitem/"),
    *(b"/admin/apikeys/apikey/", b"/admin/apikeys/apikey/1/change/", b"/admin/apikeys/apikey/1/rotate/"),
    *(b"/admin/auth/user/", b"/admin/auth/group/", b"/admin/r/1/1/", b"/admin/autocomplete/"),
]
PARAMETERS = [
    *(b"lang", b"version", b"format", b"script", b"limit", b"after", b"next", b"q", b"p", b"o", b"all", b"e"),
    *(b"status__exact", b"tag", b"created", b"created_at__gte", b"access__exact", b"state", b"use", b"_popup"),
    *(b"_to_field", b"_changelist_filters", b"term", b"app_label", b"model_name", b"field_name", b"id__in"),
]
HEADERS = [
    *(b"Host", b"X-API-Key", b"X-Request-ID", b"X-Forwarded-For", b"X-Forwarded-Proto", b"X-Forwarded-Host"),
    *(b"Content-Type", b"Content-Length", b"Transfer-Encoding", b"Expect", b"Idempotency-Key", b"Cookie", b"Accept"),
    *(b"Accept-Language", b"Accept-Encoding", b"Referer", b"Origin", b"User-Agent", b"If-None-Match", b"Upgrade"),
    *(b"If-Modified-Since", b"Range", b"Connection", b"X-CSRFToken", b"X-Requested-With", b"Authorization"),
]
JUNK = st.binary(max_size=12) | st.sampled_from(
    [
        *(b"%00", b"%", b"%ff", b"\xff", b"\0", b"%0a", b"..", b"//", b"[", b"]", b"(", b"'", b'"', b"\xe2\x80\xa8"),
        *(
            b"-1",
            b"0",
            b"9" * 400,
            b"99999-99-99",
            b"2026-01-01",
            b"true",
            b"null",
            b"available",
            b"1,2",
            b"*",
            b"x" * 5000,
        ),
    ]
)
LINE = JUNK.map(lambda text: text.replace(b"\r", b"").replace(b"\n", b""))
WORD = LINE.map(lambda text: text.replace(b" ", b"+"))
QUERY = st.lists(st.tuples(st.sampled_from(PARAMETERS) | WORD, WORD), max_size=4).map(
    lambda pairs: b"&".join(b"=".join(pair) for pair in pairs)
)
TARGET = st.builds(
    lambda path, more, query: path + more + (b"?" + query if query else b""),
    st.sampled_from(PATHS),
    st.just(b"") | WORD,
    QUERY,
)
METHOD = st.sampled_from([b"GET", b"GET", b"POST", b"HEAD", b"PUT", b"DELETE", b"OPTIONS", b"PATCH", b"TRACE"]) | WORD
BODY = (
    st.sampled_from([b"", b"{}", b'{"name": "Rex"}', b'{"name": "\\u0000"}', b"[" * 999])
    | st.binary(max_size=40)
    | QUERY
)
REQUEST = st.tuples(METHOD, TARGET, st.lists(st.tuples(st.sampled_from(HEADERS), LINE), max_size=4), BODY)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """With a deadline of one second, for requests that are not whole, and one worker."""
    folder = tmp_path_factory.mktemp("fuzz")
    with (
        migrated_database_url(folder) as url,
        planted_service(folder, DATABASE_URL=url, PLANTED_DEADLINE="1") as service,
    ):
        service.create_staff("ada", PASSWORD)
        (folder / "released").touch()  # nothing planted waits
        yield service


@pytest.fixture(scope="module")
def passes(service: Service) -> list[bytes]:
    """The headers of a client with a key, and of somebody who is logged in."""
    with service.client() as http:
        log_in(http, "ada", PASSWORD)
        cookies = "; ".join(f"{name}={value}" for name, value in http.cookies.items())
    csrf = f"X-CSRFToken: {http.cookies['csrftoken']}"
    return [f"X-API-Key: {service.create_key()}\r\n".encode(), f"Cookie: {cookies}\r\n{csrf}\r\n".encode()]


def answer(service: Service, request: bytes) -> bytes:
    address = urlsplit(service.url)
    with socket.create_connection((address.hostname, address.port), timeout=30) as client:
        client.sendall(request)
        return b"".join(iter(lambda: client.recv(65536), b""))


def memory(service: Service) -> int:
    """Of the worker, in KiB."""
    rollup = Path(f"/proc/{workers(service)[-1]}/smaps_rollup").read_text()
    return int(re.findall(r"^Pss:\s+(\d+)", rollup, re.MULTILINE)[0])


def send_made_up_requests(service: Service, passes: list[bytes], number: int) -> None:
    @settings(
        max_examples=number, deadline=None, database=None, phases=[Phase.generate], suppress_health_check=[*HealthCheck]
    )
    @given(request=REQUEST, passed=st.sampled_from([b"", *passes]))
    def send(request: tuple[bytes, bytes, list[tuple[bytes, bytes]], bytes], passed: bytes) -> None:
        method, target, headers, body = request
        names = {name for name, _ in headers}
        lines = [b"%s %s HTTP/1.1" % (method, target), b"Connection: close"]
        if b"Host" not in names:
            lines.append(b"Host: localhost")
        if not {b"Content-Length", b"Transfer-Encoding"} & names:
            lines.append(b"Content-Length: %d" % len(body))
        lines += [b"%s: %s" % header for header in headers]
        sent = b"".join(line + b"\r\n" for line in lines) + passed + b"\r\n" + body

        received = answer(service, sent)

        assert re.match(rb"HTTP/1\.1 [1-4]\d\d ", received), (sent, received[:300])

    send()


def test_no_request_fails_or_goes_unanswered_and_none_leaves_anything(service: Service, passes: list[bytes]) -> None:
    worker = workers(service)
    send_made_up_requests(service, passes, REQUESTS // 3)
    before = memory(service)

    send_made_up_requests(service, passes, REQUESTS - REQUESTS // 3)

    assert workers(service) == worker
    assert memory(service) - before < NOISE
    assert "Internal Server Error" not in service.log.read_text()
