"""Connections with a transport that writes nowhere, for what a client on a socket can hardly cause."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from petservice.monitoring.access_log import AccessLog
from petservice.server import connection
from petservice.server.limits import MAX_UNREAD_BYTES, RESPONSE_PIECE_BYTES
from tests.server.connections import CHUNKED, get, post

pytestmark = [pytest.mark.once(on="postgresql"), pytest.mark.anyio]

LONG = b"x" * (3 * RESPONSE_PIECE_BYTES + 1)


async def respond(scope: Any, receive: Any) -> Any:
    return 200, [], LONG


def begun(request: bytes, respond: Any = respond, count: Any = None) -> tuple[connection.Connection, list[bytes]]:
    """Return a connection that has received a request, by default responds with LONG, and what it has written."""
    config, loop, written = SimpleNamespace(keepalive=15), asyncio.get_running_loop(), list[bytes]()
    transport = Mock(write=written.append, get_extra_info=lambda name: None, can_write_eof=lambda: False)
    worker = SimpleNamespace(cfg=config, connections=set(), is_stopping=False, loop=loop, nr=0, log=Mock())
    worker.application, worker.access_log = SimpleNamespace(respond=respond), AccessLog(None, count)
    one = connection.Connection(worker, None, lambda: None)
    one.connection_made(transport)
    one.data_received(request)
    return one, written


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0)


async def test_large_response_is_sent_in_pieces_between_which_others_are_served() -> None:
    """The next piece waits until the client has read some data, so a slow client holds no copy of the rest."""
    client, written = begun(get("/"))
    await until(lambda: len(written) == 1)
    client.pause_writing()  # which a transport does while it gets a piece
    for _ in range(10):
        await asyncio.sleep(0)
    assert (len(written), client.state) == (2, connection.State.STALLED)
    client.resume_writing()

    await until(lambda: client.state is connection.State.IDLE)

    assert b"".join(written).endswith(b"\r\n\r\n" + LONG)
    assert max(map(len, written[1:])) == RESPONSE_PIECE_BYTES


async def test_a_request_whose_response_has_begun_is_not_refused_as_well() -> None:
    """The client would take the refusal for a part of the response, or for the response to its next request."""
    client, written = begun(post("guess", b"{", length=100))
    await until(lambda: len(written) == 1)

    client.close_overdue(time.monotonic() + 1000)

    assert client.state is connection.State.LINGERING
    assert len(written) == 1


async def test_a_failed_request_is_recorded_as_an_error_of_the_server() -> None:
    async def fail(scope: Any, receive: Any) -> Any:
        raise ValueError

    statuses: list[int] = []
    _, written = begun(get("/"), fail, lambda record, seconds: statuses.append(record.status))
    await until(lambda: bool(written))

    assert (statuses, written[0].split()[1]) == ([500], b"500")


async def test_body_in_chunks_of_one_byte_is_received_in_few_parts() -> None:
    parts: list[bytes] = []

    async def receive_all(scope: Any, receive: Callable[[], Awaitable[bytes]]) -> Any:
        while part := await receive():
            parts.append(part)
        return await respond(scope, receive)

    client, _ = begun(get("/", CHUNKED) + b"1\r\nx\r\n" * 10_000 + b"0\r\n\r\n", receive_all)
    await until(lambda: client.state is connection.State.IDLE)

    assert b"".join(parts) == b"x" * 10_000
    assert len(parts) < 100


async def test_a_chunk_of_one_byte_costs_the_same_in_a_long_body() -> None:
    def seconds(number: int) -> float:
        began = time.process_time()
        client, _ = begun(get("/", CHUNKED) + b"1\r\nx\r\n" * number)
        spent = time.process_time() - began
        client.connection_lost(None)
        return spent

    short, long = (min(seconds(number) for _ in range(5)) for number in (2_000, 60_000))

    assert long < 1.5 * 30 * short


async def test_a_client_has_the_time_in_which_the_application_takes_nothing_of_its_body() -> None:
    """While all threads are busy, nothing more of an upload is read, so its client cannot send in time."""
    client, written = begun(post("guess", b"", length=2 * MAX_UNREAD_BYTES))
    client.data_received(b"x" * (MAX_UNREAD_BYTES + 1))

    client.close_overdue(time.monotonic() + 1000)

    assert client.state is connection.State.RECEIVING
    assert written == []
    client.connection_lost(None)
