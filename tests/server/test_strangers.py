"""Clients without a key or a session wait for each other, and never delay a client that has one."""

import asyncio
import gc
import json
import os
import re
import socket
import weakref
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.contrib.sessions.backends.db import SessionStore

from petservice.handler import Handler
from petservice.server import public_responses
from petservice.server.admission import KnownClients, Turns
from petservice.server.limits import (
    CONCURRENT_STRANGERS,
    MAX_CONNECTIONS_OF_ADDRESS,
    MAX_KNOWN_CLIENTS,
    PAGE_THREADS,
    RESPONSE_PIECE_BYTES,
)
from petservice.server.messages import send_response
from tests.server.connections import Connect, get, request_of
from tests.server.services import booted_workers, clear, held_requests, release, service_with_test_endpoints, suspended
from tests.service import Service, log_in
from tests.waiting import wait_until

pytestmark = pytest.mark.once(on="postgresql")

BUNDLE = "/static/drf_spectacular_sidecar/swagger-ui-dist/swagger-ui-bundle.js"


@pytest.fixture
def folder(with_test_endpoints: Service) -> Iterator[Path]:
    """The folder in which the test endpoints leave files; at the end, held requests are released."""
    folder = with_test_endpoints.log.parent
    clear(folder)
    yield folder
    release(folder)


@pytest.fixture
def session(with_test_endpoints: Service, folder: Path) -> bytes:
    """The session cookie of a staff account that has loaded a page, as a header line."""
    release(folder)
    with with_test_endpoints.client() as client:
        log_in(client, "ada", "correct horse")
        assert client.get("/admin/").status_code == 200
    clear(folder)
    return f"Cookie: sessionid={client.cookies['sessionid']}".encode()


def test_page_of_staff_does_not_wait_for_pages_of_strangers(
    with_test_endpoints: Service, folder: Path, connect: Connect, session: bytes
) -> None:
    strangers = [connect(with_test_endpoints) for _ in range(2 * PAGE_THREADS)]
    for stranger in strangers:
        stranger.send(get("/held"))
    wait_until(lambda: held_requests(folder) == CONCURRENT_STRANGERS)

    staff = connect(with_test_endpoints)
    staff.send(get("/admin/", session))
    assert staff.response().status == 200

    assert held_requests(folder) == CONCURRENT_STRANGERS
    release(folder)
    assert {stranger.response().status for stranger in strangers} == {200}


def test_public_page_needs_no_thread(
    with_test_endpoints: Service, folder: Path, connect: Connect, session: bytes
) -> None:
    stranger = connect(with_test_endpoints)
    for path in ("/", "/docs", "/openapi.json", "/static/petservice/front.css", "/ready"):
        stranger.send(get(path))
        assert stranger.response().status == 200
    for _ in range(PAGE_THREADS):
        connect(with_test_endpoints).send(get("/held", session))
    wait_until(lambda: held_requests(folder) == PAGE_THREADS)

    for path in ("/", "/docs", "/openapi.json", "/static/petservice/front.css", "/ready"):
        stranger.send(get(path))
        assert stranger.response().status == 200


def test_client_with_a_key_does_not_wait_for_earlier_strangers(
    with_test_endpoints: Service, folder: Path, connect: Connect
) -> None:
    key = f"X-API-Key: {with_test_endpoints.create_key()}".encode()
    client = connect(with_test_endpoints)
    client.send(get("/v1/pets", key))
    assert client.response().status == 200
    strangers = [connect(with_test_endpoints) for _ in range(100)]
    for stranger in strangers:
        stranger.send(get("/v1/health"))
        stranger.response()
        stranger.send(get("/v1/pets"))
        stranger.response()

    (worker,) = booted_workers(with_test_endpoints)
    with suspended(worker):
        for number, stranger in enumerate(strangers):
            stranger.send(get("/v1/recorded", b"X-Sender: %d" % number))
        client.send(get("/v1/recorded", key))
    client.response()
    for stranger in strangers:
        stranger.response()

    records = sorted(folder.glob("recorded-*"), key=lambda file: int(file.name.removeprefix("recorded-")))
    senders = [json.loads(file.read_text()).get("HTTP_X_SENDER") for file in records]
    for file in records:
        file.unlink()
    assert len(senders) == 101
    assert senders.index(None) < 10


def test_cached_response_equals_the_first_response(with_test_endpoints: Service) -> None:
    with with_test_endpoints.client() as client:
        for path in ("/", "/docs", "/openapi.json", "/static/petservice/front.css"):
            first, second, head = client.get(path), client.get(path), client.head(path)

            assert second.content == first.content
            assert first.headers.keys() == second.headers.keys() == head.headers.keys()
            assert first.headers["X-Request-ID"] != second.headers["X-Request-ID"]
            assert client.get(path, headers={"Host": "elsewhere.example"}).status_code == 400
        assert client.get(BUNDLE, headers={"Range": "bytes=0-9"}).status_code == 200
        seen = client.get(BUNDLE).headers
        for name, of_client in (("Last-Modified", "If-Modified-Since"), ("ETag", "If-None-Match")):
            again = client.get(BUNDLE, headers={of_client: seen[name]})
            assert (again.status_code, again.content, "Content-Length" in again.headers) == (304, b"", False)


def test_response_that_was_used_least_recently_leaves_a_full_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(public_responses, "MAX_PUBLIC_BYTES", 2_000_000)
    cache = public_responses.PublicResponses(Handler())
    request = request_of("/v1/nowhere")
    one, two, three = ((name, "", "http", "") for name in ("one", "two", "three"))
    for key in (one, two):
        cache.keep(key, request, (200, [], b"x" * 900_000))
    assert cache.get(one, request)

    cache.keep(three, request, (200, [], b"x" * 900_000))

    assert [cache.get(key, request) is not None for key in (one, two, three)] == [True, False, True]


def test_cached_home_page_shows_the_host_of_its_request(with_test_endpoints: Service) -> None:
    port = with_test_endpoints.url.rpartition(":")[2]
    with with_test_endpoints.client() as client:
        for _ in range(2):
            for host in (f"127.0.0.1:{port}", f"localhost:{port}"):
                assert f"http://{host}/v1/" in client.get("/", headers={"Host": host}).text


async def test_large_response_is_sent_in_pieces() -> None:
    """The next piece waits until the client has read some data, so a slow client holds no copy of the rest."""
    body = os.urandom(3 * RESPONSE_PIECE_BYTES + 1)
    messages: list[dict[str, Any]] = []
    sent_before_turns: list[int] = []

    @asynccontextmanager
    async def turn() -> AsyncIterator[None]:
        sent_before_turns.append(len(messages) - 1)
        yield

    async def send(message: dict[str, Any]) -> None:
        messages.append(message)

    await send_response(send, "GET", (200, [], body), None, turn)

    pieces = [message["body"] for message in messages[1:]]
    assert b"".join(pieces) == body
    assert max(map(len, pieces)) == RESPONSE_PIECE_BYTES
    assert [message.get("more_body", False) for message in messages[1:]] == [True] * 3 + [False]
    assert sent_before_turns == [1, 2, 3]


def test_request_of_a_page_is_freed_without_the_garbage_collector() -> None:
    request = request_of("/admin/")
    stored = request.session = SessionStore()  # type: ignore[assignment]
    stored.request = request  # type: ignore[attr-defined]
    is_alive = weakref.ref(stored)
    gc.disable()
    try:
        request.release()
        del request, stored
        assert is_alive() is None
    finally:
        gc.enable()


def test_connections_of_an_address_are_limited(tmp_path: Path, migrated_url: str, connect: Connect) -> None:
    variables = {"DATABASE_URL": migrated_url, "FORWARDED_ALLOW_IPS": "192.0.2.1"}
    with service_with_test_endpoints(tmp_path, "--bind", "[::]:0", **variables) as service:
        (port_of_both,) = re.findall(r"http://\[::\]:(\d+)", service.log.read_text())
        on_both = replace(service, url=f"http://127.0.0.1:{port_of_both}")  # where an IPv4 peer is ::ffff:127.0.0.1
        half = MAX_CONNECTIONS_OF_ADDRESS // 2
        held = [connect(on_both) for _ in range(half)]
        held += [connect(service) for _ in range(MAX_CONNECTIONS_OF_ADDRESS - half)]
        rejected = connect(service)
        rejected.socket.settimeout(5)  # less than the timeout of a silent connection
        assert rejected.is_closed()

        other = connect(service)
        other.socket.close()
        port = int(service.url.rpartition(":")[2])
        other.socket = socket.create_connection(("127.0.0.1", port), timeout=30, source_address=("127.0.0.2", 0))
        other.send(get("/v1/health"))
        assert other.response().status == 200

        held.pop().socket.close()
        other.send(get("/v1/health"))
        other.response()
        again = connect(service)
        again.send(get("/v1/health"))
        assert again.response().status == 200


async def test_addresses_take_turns() -> None:
    order: list[str] = []

    async def work(turns: Turns, address: str) -> None:
        async with turns.take(address):
            order.append(address)

    turns = Turns(1)
    async with turns.take("first"):
        tasks = [asyncio.create_task(work(turns, address)) for address in ("one", "one", "one", "two")]
        left = asyncio.create_task(work(turns, "left"))
        await asyncio.sleep(0)
        left.cancel()
    await asyncio.gather(*tasks)
    async with asyncio.timeout(1), turns.take("last"):
        pass
    assert order == ["one", "two", "one", "one"]


async def test_wait_for_a_turn_times_out() -> None:
    turns = Turns(1)
    async with turns.take("first"):
        with pytest.raises(TimeoutError):
            async with turns.take("second", timeout=0.01):
                pass
    async with turns.take("second", timeout=0.01):
        pass


def test_known_clients_are_limited_and_can_be_forgotten() -> None:
    known = KnownClients()
    for number in range(MAX_KNOWN_CLIENTS + 1):
        known.note(number)
    assert 0 not in known
    assert 1 in known
    known.forget(1)
    assert 1 not in known
    known.note(None)
    assert None not in known
