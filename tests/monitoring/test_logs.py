"""What the service logs in JSON: a line a request and one an error, whatever clients send and readers do."""

import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from petservice.monitoring.line_writer import LIMIT, LineWriter
from tests.databases import migrated_database_url
from tests.monitoring.observed import Observed, observed_service
from tests.server.connections import HOST, Client, get, post
from tests.server.services import planted_service
from tests.service import ROOT, SERVE, TLS, free_port, running_service
from tests.waiting import wait_until

pytestmark = pytest.mark.once

PET = b'{"name": "Rex"}'


@pytest.fixture(scope="module")
def observed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Observed]:
    with observed_service(tmp_path_factory.mktemp("logs")) as observed:
        yield observed


def line_of(observed: Observed, *parts: bytes) -> dict[str, object]:
    """The line of the one request that `parts` are."""
    with Client(observed.service) as client:
        client.send(*parts)
        identity = client.answer(to_head=parts[0].startswith(b"HEAD")).headers["x-request-id"]
    found: list[dict[str, object]] = []

    def is_there() -> bool:
        found[:] = [line for line in observed.requests() if line["request_id"] == identity]
        return bool(found)

    wait_until(is_there)
    (line,) = found
    return line


def test_line_of_a_request_tells_what_it_was_and_what_became_of_it(observed: Observed) -> None:
    line = line_of(observed, post(observed.key, PET, b"X-Request-ID: order-7"))

    assert line.pop("time") > "2026-"  # type: ignore[operator]
    assert 0 < line.pop("milliseconds") < 60_000  # type: ignore[operator]
    assert line == {
        "level": "INFO",
        "logger": "petservice.requests",
        "request_id": "order-7",
        "method": "POST",
        "route": "/v1/pets",
        "status": 201,
        "key_prefix": observed.key[:18],
        "address": "127.0.0.1",
    }


def requests(key: str) -> dict[str, tuple[bytes, tuple[str, str, int]]]:
    """Each kind of request, and what is seen of it."""
    header = f"X-API-Key: {key}".encode()
    chunked = b"Transfer-Encoding: chunked"
    some_id = uuid.UUID(int=7)
    return {
        "health": (get("/v1/health"), ("GET", "/v1/health", 200)),
        "health by HEAD": (get("/v1/health", method="HEAD"), ("HEAD", "/v1/health", 200)),
        "list": (get("/v1/pets", header), ("GET", "/v1/pets", 200)),
        "bad query": (get("/v1/pets?limit=x", header), ("GET", "/v1/pets", 400)),
        "no pet": (get(f"/v1/pets/{some_id}", header), ("GET", "/v1/pets/{petId}", 404)),
        "inventory": (get("/v1/store/inventory", header), ("GET", "/v1/store/inventory", 200)),
        "create": (post(key, PET), ("POST", "/v1/pets", 201)),
        "create once": (post(key, PET, f"Idempotency-Key: {uuid.uuid4()}".encode()), ("POST", "/v1/pets", 201)),
        "bad body": (post(key, b"{"), ("POST", "/v1/pets", 400)),
        "no key": (get("/v1/pets"), ("GET", "/v1/pets", 401)),
        "unknown path": (get("/v1/dogs", header), ("GET", "no_route", 404)),
        "wrong method": (get("/v1/pets", header, method="DELETE"), ("DELETE", "/v1/pets", 404)),
        "unknown method": (get("/v1/pets", header, method="BREW"), ("other", "/v1/pets", 404)),
        "foreign host": (b"GET /v1/pets HTTP/1.1\r\nHost: example.com\r\n\r\n", ("GET", "no_route", 400)),
        "ready": (get("/ready"), ("GET", "/ready", 200)),
        "front page": (get("/"), ("GET", "/", 200)),
        "docs": (get("/docs"), ("GET", "/docs", 200)),
        "admin": (get("/admin/pets/pet/7/change/"), ("GET", "/admin/pets/pet/{object_id}/change/", 302)),
        "login": (get("/admin/login/"), ("GET", "/admin/login/", 200)),
        "static file": (get("/static/backoffice/admin.css"), ("GET", "/static/", 200)),
        "expects something": (get("/v1/pets", b"Expect: magic"), ("GET", "no_route", 400)),
        "no HTTP": (b"HELO\r\n\r\n", ("other", "invalid_request", 400)),
        "long path": (get("/" + "x" * 9000), ("other", "invalid_request", 400)),
        "bad chunk": (get("/v1/pets", header, chunked, method="POST") + b"zz\r\n", ("other", "invalid_request", 400)),
    }


KINDS = list(requests("x" * 59))


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_request_has_one_line_by_route_method_and_status(observed: Observed, kind: str) -> None:
    parts, seen = requests(observed.key)[kind]

    line = line_of(observed, parts)

    assert (line["method"], line["route"], line["status"]) == seen


def test_chunk_that_is_malformed_after_others_is_its_request_s_fault(observed: Observed) -> None:
    """Its request has begun to be answered: still there is one line."""
    before = observed.logged()
    with Client(observed.service) as client:
        client.send(
            get("/v1/pets", f"X-API-Key: {observed.key}".encode(), b"Transfer-Encoding: chunked", method="POST")
        )
        client.send(b"1\r\n{\r\n")
        select.select([client.socket], [], [], 0.2)  # nothing: the service waits for more
        client.send(b"zz\r\n")
        assert client.answer().status == 400

    seen: Counter[tuple[str, str, int]] = Counter()
    wait_until(lambda: seen.update(observed.logged() - before) or seen)
    assert sum((observed.logged() - before).values()) == 1
    assert [method for method, *_ in seen] == ["POST"]


@pytest.mark.parametrize(
    "sent", [b"", b"pets_test_guess", b"pets_test_" + b"A" * 49], ids=["empty", "malformed", "wrong"]
)
def test_key_that_did_not_verify_is_not_named(observed: Observed, sent: bytes) -> None:
    line = line_of(observed, get("/v1/pets", b"X-API-Key: " + sent))

    assert (line["status"], line["key_prefix"]) == (401, None)


@pytest.mark.parametrize(
    ("header", "address"),
    [
        pytest.param(b"192.0.2.7", "192.0.2.7", id="a client behind the proxy"),
        pytest.param(b"203.0.113.66, 192.0.2.7", "192.0.2.7", id="one that claims another"),
        pytest.param(b"2001:db8::7", "2001:db8::7", id="IPv6"),
        pytest.param(b'1.2.3.4","status":"200', "127.0.0.1", id="JSON"),
        pytest.param(b"1.2.3.4%0a{}", "127.0.0.1", id="a percent-encoded line feed"),
        pytest.param("1.2.3.4\u2028{}".encode(), "127.0.0.1", id="a line separator"),
        pytest.param(b"fe80::1%\x1b[31m", "fe80::1", id="a control character"),
    ],
)
def test_address_is_an_address_whatever_the_header_says(observed: Observed, header: bytes, address: str) -> None:
    line = line_of(observed, get("/v1/health", b"X-Forwarded-For: " + header))

    assert line["address"] == address or line["status"] == 400


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
def test_nothing_that_a_client_sends_becomes_a_line_or_a_part_of_one(observed: Observed, where: str, text: str) -> None:
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


def test_key_is_nowhere_in_the_log(observed: Observed) -> None:
    key = observed.key.encode()
    identity = get("/v1/pets", b"X-API-Key: " + key, b"X-Request-ID: " + key)
    with Client(observed.service) as client:
        client.send(identity)
        assert client.answer().headers["x-request-id"] == observed.key
    wait_until(lambda: any(line["request_id"] == f"{observed.key[:18]}…" for line in observed.requests()))
    for parts in (
        get(f"/v1/pets/{observed.key}?limit={observed.key}", b"User-Agent: " + key, b"Authorization: " + key),
        get(f"/admin/{observed.key}?q={observed.key}", b"X-Forwarded-For: " + key, b"Cookie: sessionid=" + key),
        get("/v1/pets", key + b": " + key, method=observed.key),
        get(f"/{observed.key}", b"Host: " + key),
        key + b"\r\n\r\n",
    ):
        line_of(observed, parts)

    log = observed.service.log.read_text()
    assert observed.key[:18] in log
    assert observed.key[18:] not in log


def test_error_has_its_traceback_in_one_line_with_the_request_id_of_its_answer(tmp_path: Path) -> None:
    with observed_service(tmp_path) as observed:
        observed.service.execute("ALTER TABLE pets_pet RENAME TO gone")
        line = line_of(observed, get("/v1/pets", f"X-API-Key: {observed.key}".encode()))
        errors = [line for line in observed.lines() if line["level"] == "ERROR"]

    assert line["status"] == 500
    (error,) = errors
    assert error["request_id"] == line["request_id"]
    assert error["message"].startswith("Internal Server Error: /v1/pets")
    assert error["traceback"].startswith("Traceback (most recent call last):\n")
    assert "pets_pet" in error["traceback"]


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Observed]:
    folder = tmp_path_factory.mktemp("planted")
    with planted_service(folder, PETSERVICE_LOG_FORMAT="json") as service:
        yield Observed(service, "", "")


def test_crash_outside_django_is_one_request_and_one_error(planted: Observed) -> None:
    line = line_of(planted, get("/v1/crash"))
    errors = [line for line in planted.lines() if line["level"] == "ERROR"]

    assert (line["route"], line["status"]) == ("no_route", 500)
    (error,) = errors
    assert "RuntimeError: the planted cause" in error["traceback"]


def test_client_that_leaves_before_its_answer_is_499(planted: Observed) -> None:
    folder = planted.service.log.parent
    with Client(planted.service) as client:
        client.send(get("/held", b"X-Request-ID: impatient"))
        wait_until(lambda: list(folder.glob("held-*")))
        # Reset: who ends its half only may still read.
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    wait_until(lambda: planted.logged()["GET", "no_route", 499] == 1)
    (folder / "released").touch()
    assert [line["request_id"] for line in planted.requests() if line["status"] == 499] == ["impatient"]


def test_client_that_leaves_before_its_body_is_whole_is_499(observed: Observed) -> None:
    before = observed.logged()
    with Client(observed.service) as client:
        client.send(get("/v1/health"))
        client.answer()  # a connection that is reset before it is accepted is nobody's
        client.send(get("/v1/pets", b"Content-Length: 10", method="POST") + b"abc")
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    wait_until(lambda: (observed.logged() - before)["POST", "no_route", 499] == 1)


def test_worker_that_hangs_tells_where_in_one_line(tmp_path: Path) -> None:
    with planted_service(tmp_path, "--timeout", "2", PETSERVICE_LOG_FORMAT="json") as service:
        observed = Observed(service, "", "")
        with Client(service) as client:
            client.send(get("/hanging"))
            wait_until(
                lambda: [line for line in observed.lines() if line.get("message", "").startswith("The worker hangs:")]
            )
            assert "endpoints.py" in observed.service.log.read_text()


def test_requests_are_not_logged_in_lines_for_people(tmp_path: Path) -> None:
    with migrated_database_url(tmp_path) as url, running_service(tmp_path, DATABASE_URL=url) as service:
        assert httpx.get(f"{service.url}/v1/pets", trust_env=False, verify=TLS).status_code == 401
        service.process.send_signal(signal.SIGTERM)
        service.process.wait(timeout=40)
        log = service.log.read_text()

    assert "[INFO] Listening at: " in log
    assert "petservice.requests" not in log


@pytest.mark.parametrize(("environment", "log_format"), [("test", "line"), ("live", "json")])
def test_live_logs_in_json_by_default(environment: str, log_format: str) -> None:
    program = "from petservice import settings; print(settings.LOG_FORMAT)"
    variables = {"PATH": os.environ["PATH"], "PETSERVICE_ENVIRONMENT": environment}
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=variables, capture_output=True, text=True)

    assert ended.stdout.strip() == log_format


# Readers of the log.


def test_reader_that_pauses_delays_no_request_and_gets_whole_lines(tmp_path: Path) -> None:
    with migrated_database_url(tmp_path) as url:
        port = free_port()
        environment = os.environ | {
            "PETSERVICE_DATA_DIR": str(tmp_path),
            "DATABASE_URL": url,
            "WEB_CONCURRENCY": "2",
            "PETSERVICE_LOG_FORMAT": "json",
        }
        command = [sys.executable, *SERVE, "--bind", f"127.0.0.1:{port}"]
        with subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        ) as process:
            answered = 0
            try:
                wait_until(lambda: _answers(port))
                with ExitStack() as stack:
                    clients = [stack.enter_context(httpx.Client(trust_env=False, verify=TLS)) for _ in range(4)]
                    for _ in range(250):  # some 250 KB of lines; a pipe holds 64
                        for client in clients:
                            answered += client.get(f"http://127.0.0.1:{port}/v1/health").status_code == 200
            finally:
                process.terminate()
            assert process.stderr
            lines = [json.loads(line) for line in process.stderr.read().splitlines()]

    assert answered == 1000
    assert sum(line.get("route") == "/v1/health" for line in lines) == answered


def _answers(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/ready", trust_env=False, verify=TLS).status_code == 200
    except httpx.TransportError:
        return False


def test_lines_beyond_what_may_wait_are_lost_and_counted() -> None:
    read, write = os.pipe()
    line = b"x" * 999 + b"\n"
    writer = LineWriter(write, lambda number: f"lost {number}")
    written = 3 * LIMIT // len(line)
    for _ in range(written):
        writer.write_line(line)

    received = bytearray()
    reader = threading.Thread(target=lambda: received.extend(b"".join(iter(lambda: os.read(read, 65536), b""))))
    reader.start()
    writer.close()
    writer.write_line(b"late\n")
    os.close(write)
    reader.join()
    os.close(read)

    *lines, late = bytes(received).splitlines(keepends=True)
    notes = [int(text.split()[1]) for text in lines if text.startswith(b"lost ")]
    assert late == b"late\n"
    assert notes
    assert sum(notes) + lines.count(line) == written
    assert len(lines) == lines.count(line) + len(notes)
