"""The access log in JSON has one line for each request."""

import json
import socket
import time
from collections import Counter
from pathlib import Path

import pytest

from petservice.monitoring.access_log import AccessLog, AccessRecord
from tests.monitoring.observed import Observed
from tests.monitoring.requests import PET, line_of
from tests.server.connections import RESET, Client, get, post
from tests.server.services import booted_workers, held_requests, release
from tests.waiting import wait_until

pytestmark = pytest.mark.once


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


@pytest.mark.parametrize(
    "sent", [b"", b"pets_test_guess", b"pets_test_" + b"A" * 49], ids=["empty", "malformed", "wrong"]
)
def test_prefix_of_an_invalid_key_is_not_logged(observed: Observed, sent: bytes) -> None:
    line = line_of(observed, get("/v1/pets", b"X-API-Key: " + sent))

    assert (line["status"], line["key_prefix"]) == (401, None)


def test_client_that_disconnects_before_the_response_has_status_499(with_test_endpoints: Observed) -> None:
    folder = with_test_endpoints.service.log.parent
    with Client(with_test_endpoints.service) as client:
        client.send(get("/held", b"X-Request-ID: impatient"))
        wait_until(lambda: held_requests(folder))
        # Reset the connection, because a client that closes only its sending half may still read.
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)

    def statuses() -> list[int]:
        return [line["status"] for line in with_test_endpoints.requests() if line["request_id"] == "impatient"]

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
