"""Connections that repeat a request without a pause, for tests of what they do to other clients."""

import asyncio
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import cast

from tests.service import Service
from tests.waiting import wait_until


class Busy:
    """The number of complete responses that all connections together have got."""

    responses = 0


class BusyConnection(asyncio.Protocol):
    """A connection that sends its request again at the end of each response."""

    def __init__(self, request: bytes, statuses: Collection[int], busy: Busy) -> None:
        self._request = request
        self._statuses = statuses
        self._busy = busy
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, body = self._received.partition(b"\r\n\r\n")
        if not end or (self._request[:4] != b"HEAD" and len(body) < _length(head)):
            return
        assert int(head.split(b" ")[1]) in self._statuses, data
        self._received = b""
        self._busy.responses += 1
        self.send()

    def send(self) -> None:
        self._transport.write(self._request)


def _length(head: bytes) -> int:
    return int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])


@contextmanager
def busy_connections(service: Service, requests: list[bytes], *, statuses: Collection[int] = (200,)) -> Iterator[Busy]:
    """Keep a connection busy with each of these requests until the end of the block, on a thread."""
    busy, loop = Busy(), asyncio.new_event_loop()
    errors: list[object] = []
    loop.set_exception_handler(lambda _, context: errors.append(context.get("exception")))
    connections = [BusyConnection(request, statuses, busy) for request in requests]

    async def connect() -> None:
        port = int(service.url.rpartition(":")[2])
        tls = service.tls if service.url.startswith("https:") else None
        for connection in connections:
            await loop.create_connection(lambda connection=connection: connection, "127.0.0.1", port, ssl=tls)
        for connection in connections:  # when all are accepted, because a busy service accepts them slowly
            connection.send()

    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(connect(), loop).result(timeout=60)
        wait_until(lambda: errors or busy.responses >= len(requests))
        yield busy
        assert errors == []
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        for connection in connections:
            connection._transport.abort()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()
