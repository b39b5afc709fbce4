"""Connections that repeat a request without a pause, for tests of what they do to other clients."""

import asyncio
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from anyio.from_thread import start_blocking_portal

from tests.service import Service
from tests.waiting import wait_until


class Busy:
    """The number of complete responses that all connections together have got."""

    responses = 0


async def _repeat(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes, statuses: Collection[int], busy: Busy
) -> None:
    while True:
        writer.write(request)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        if not request.startswith(b"HEAD"):
            await reader.readexactly(int(head.partition(b"content-length: ")[2].split(b"\r\n")[0]))
        assert int(head.split(b" ")[1]) in statuses, head
        busy.responses += 1


@contextmanager
def busy_connections(service: Service, requests: list[bytes], *, statuses: Collection[int] = (200,)) -> Iterator[Busy]:
    """Keep a connection busy with each of these requests until the end of the block, on a thread."""
    busy = Busy()
    port = int(service.url.rpartition(":")[2])
    tls = service.tls if service.url.startswith("https:") else None

    async def repeat_all() -> None:
        # All are accepted before the first request, because a busy service accepts them slowly.
        streams = [await asyncio.open_connection("127.0.0.1", port, ssl=tls) for _ in requests]
        try:
            await asyncio.gather(
                *(_repeat(*one, sent, statuses, busy) for one, sent in zip(streams, requests, strict=True))
            )
        finally:
            for _, writer in streams:
                writer.transport.abort()

    with start_blocking_portal("asyncio", {"use_uvloop": True}) as portal:
        running = portal.start_task_soon(repeat_all)
        try:
            wait_until(lambda: running.done() or busy.responses >= len(requests))
            yield busy
            if running.done():
                running.result()
        finally:
            running.cancel()
