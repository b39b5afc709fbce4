"""The conversion of Django's responses into ASGI messages."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

from django.http import HttpResponse
from django.http.response import HttpResponseBase

from petservice.monitoring.access_log import AccessRecord
from petservice.server.limits import RESPONSE_PIECE_BYTES

Send = Callable[[dict[str, Any]], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]
# The status, headers and body of a response.
Response = tuple[int, Headers, bytes]


def whole(response: HttpResponse) -> Response:
    return encoded(response, response.content)


def encoded(response: HttpResponseBase, body: bytes) -> Response:
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in response.items()]
    headers += [(b"Set-Cookie", cookie.OutputString().encode("latin-1")) for cookie in response.cookies.values()]
    # A 304 has no length, because clients would read it as the length of the cached response.
    if response.status_code != 304 and "Content-Length" not in response.headers:
        headers.append((b"Content-Length", str(len(body)).encode()))
    return response.status_code, headers, body


async def send_response(
    send: Send,
    method: str | None,
    response: Response,
    record: AccessRecord | None,
    turn: Callable[[], AbstractAsyncContextManager[None]] = nullcontext,
) -> None:
    """Send a response. Each piece of a large one is sent in its own step of the event loop, in a turn of its own."""
    status, headers, body = response
    await send({"type": "http.response.start", "status": status, "headers": headers})
    if record is not None:
        record.status = status
    if method == "HEAD":
        body = b""
    sent = 0
    while len(body) - sent > RESPONSE_PIECE_BYTES:
        piece = body[sent : sent + RESPONSE_PIECE_BYTES]
        await send({"type": "http.response.body", "body": piece, "more_body": True})
        sent += len(piece)
        async with turn():
            await asyncio.sleep(0)
    await send({"type": "http.response.body", "body": body[sent:]})
