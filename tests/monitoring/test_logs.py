"""The log: a line for each error, a line in JSON for each request, and nothing that clients forge or keep secret."""

import json
import re
import signal
import socket
import time
from collections import Counter
from pathlib import Path

import pytest

from petservice.monitoring.access_log import AccessLog, AccessRecord
from tests.monitoring.observed import Observed
from tests.monitoring.requests import PET, line_of
from tests.server.connections import HOST, RESET, Client, get, post, response_to
from tests.server.services import booted_workers, held_requests, release, service_with_test_endpoints
from tests.service import Service, log_in
from tests.waiting import wait_until

pytestmark = pytest.mark.once

# Errors.


def test_error_has_its_traceback_in_one_line_with_the_id_of_its_request(observed: Observed) -> None:
    observed.service.execute("ALTER TABLE apikeys_apikey RENAME TO hidden")
    try:  # by a request that the fast path leaves to Django
        line = line_of(observed, get("/v1/pets?limit=1&x=1", f"X-API-Key: {observed.key}".encode()))
    finally:
        observed.service.execute("ALTER TABLE hidden RENAME TO apikeys_apikey")

    assert line["status"] == 500
    of_request = [one for one in observed.lines() if one.get("request_id") == line["request_id"]]
    (error,) = (one for one in of_request if one["level"] == "ERROR")
    assert error["message"].startswith("Internal Server Error: /v1/pets")
    assert error["traceback"].startswith("Traceback (most recent call last):\n")
    assert "apikeys_apikey" in error["traceback"]


def test_a_request_that_django_calls_suspicious_is_a_warning_of_one_line(service: Service) -> None:
    lists = ["/admin/pets/pet/", "/admin/auth/user/", "/admin/pets/trashedpet/"]
    urls = [f"{url}?{query}=1" for url in lists for query in ("first%0Asecond__regex", "_to_field")]
    fields = {f"field{number}": "x" for number in range(1100)}
    before = len(service.log.read_text())  # of other tests
    service.create_staff("suspicious", "a long one")

    def text() -> str:
        return service.log.read_text()[before:]

    def lines() -> list[str]:
        return [line for line in text().splitlines() if " django.security." in line]

    with service.client() as client:
        log_in(client, "suspicious", "a long one")
        token = {"csrfmiddlewaretoken": client.cookies["csrftoken"]}
        responses = [*map(client.get, urls), client.post(urls[0], data=token | fields)]
        responses.append(client.post(urls[0], data=token | {"name": "x" * 3_000_000}))
    wait_until(lambda: len(lines()) == len(responses))

    assert [response.status_code for response in responses] == [400] * len(responses)
    assert all(re.search(r" WARNING django\.security\.", line) for line in lines())
    assert " ERROR " not in text()
    assert "Traceback" not in text()


def test_the_line_format_has_process_and_request_in_each_line_and_no_line_for_each_request(tmp_path: Path) -> None:
    """The lines of gunicorn are in its own file, if it has one."""
    file = tmp_path / "gunicorn.log"
    with service_with_test_endpoints(tmp_path, "--log-file", str(file), PETSERVICE_LOG_FORMAT="line") as service:
        assert response_to(service, get("/v1/crash", b"X-Request-ID: order-8")).status == 500
        (worker,) = service.workers()
        service.process.send_signal(signal.SIGTERM)
        service.process.wait(timeout=40)
        lines = service.log.read_text().splitlines() + file.read_text().splitlines()
        dated = [line for line in lines if line.startswith("20")]

    with_ids = [re.match(r"\S+ \S+ [A-Z]+ ([\w.]+) (\d+) \[(\S+)\] ", line) for line in dated]
    assert all(with_ids), dated
    loggers = {(match[1], int(match[2]), match[3]) for match in with_ids if match}
    assert {("gunicorn.error", pid, "-") for pid in (service.process.pid, worker)} <= loggers
    assert ("petservice.server.application", worker, "order-8") in loggers
    assert "petservice.requests" not in {logger for logger, _, _ in loggers}


# Requests.


def test_line_of_a_request_has_its_route_status_key_prefix_and_client_address(observed: Observed) -> None:
    forwarded = b"X-Forwarded-For: 203.0.113.66, 2001:DB8:0::7"  # the client forges the first address
    line = line_of(observed, post(observed.key, PET, b"X-Request-ID: order-7", forwarded))

    assert line.pop("time") > "2026-"  # type: ignore[operator]
    assert 0 < line.pop("database_milliseconds") < line.pop("milliseconds") < 60_000  # type: ignore[operator]
    assert line.pop("queue_milliseconds") >= 0  # type: ignore[operator]
    assert line.pop("process") in booted_workers(observed.service)
    assert line == {
        "level": "INFO",
        "logger": "petservice.requests",
        "request_id": "order-7",
        "method": "POST",
        "route": "/v1/pets",
        "status": 201,
        "key_prefix": observed.key[:18],
        "address": "2001:db8::7",
    }


def test_times_of_a_line_are_in_milliseconds(tmp_path: Path) -> None:
    with (tmp_path / "log").open("w") as log:
        record = AccessRecord()
        record.started, record.database_seconds, record.queue_seconds = time.monotonic() - 2, 0.25, 0.5
        AccessLog(log.fileno(), None).end(record)

    line = json.loads((tmp_path / "log").read_text())
    assert (line["database_milliseconds"], line["queue_milliseconds"]) == (250, 500)
    assert line["milliseconds"] >= 2000


def test_request_with_a_malformed_second_chunk_has_one_line(observed: Observed) -> None:
    """The service has begun to process the request when the malformed chunk arrives."""
    before = observed.logged()
    with Client(observed.service) as client:
        client.send(
            get("/v1/pets", f"X-API-Key: {observed.key}".encode(), b"Transfer-Encoding: chunked", method="POST")
        )
        client.send(b"1\r\n{\r\n")
        assert client.is_waiting()
        assert client.response_to(b"zz\r\n").status == 400

    seen: Counter[tuple[str, str, int]] = Counter()
    wait_until(lambda: seen.update(observed.logged() - before) or seen)
    assert sum((observed.logged() - before).values()) == 1
    assert [method for method, *_ in seen] == ["POST"]


def test_client_that_disconnects_before_the_response_has_status_499(one_worker: Observed) -> None:
    folder = one_worker.service.log.parent
    with Client(one_worker.service) as client:
        client.send(get("/held", b"X-Request-ID: impatient"))
        wait_until(lambda: held_requests(folder))
        # Reset the connection, because a client that closes only its sending half may still read.
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)

    def statuses() -> list[int]:
        return [line["status"] for line in one_worker.requests() if line["request_id"] == "impatient"]

    wait_until(statuses)
    release(folder)
    assert statuses() == [499]


def test_client_that_disconnects_before_the_end_of_its_body_has_status_499(observed: Observed) -> None:
    before = observed.logged()
    with Client(observed.service) as client:
        client.response_to(get("/v1/health"))  # no worker sees a connection that is reset before it is accepted
        client.send(get("/v1/pets", b"Content-Length: 10", method="POST") + b"abc")
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)

    wait_until(lambda: (observed.logged() - before)["POST", "no_route", 499] == 1)


def test_usual_request_that_ends_within_its_body_has_its_id_and_address(observed: Observed) -> None:
    with Client(observed.service) as client:
        client.response_to(get("/v1/health"))
        client.send(post(observed.key, b'{"name":"Rex"}', b"X-Request-ID: left")[:-1])
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)

    expected = {"request_id": "left", "status": 499, "address": "127.0.0.1"}
    wait_until(lambda: expected.items() <= observed.requests()[-1].items())


# Input and keys of clients.

FORGED = '{"logger": "petservice.requests", "forged": true}'
INJECTIONS = [
    f"%0d%0a{FORGED}",
    f"\u2028{FORGED}",
    f"\x85{FORGED}",
    '","forged":true,"x":"',
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
    assert line["key_prefix"] is None  # also of an invalid key
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
