"""The conversion of what a connection has parsed into Django's requests, and of Django's responses into bytes."""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from tempfile import SpooledTemporaryFile
from typing import Any
from urllib.parse import unquote, urlsplit

from django.conf import settings
from django.core.handlers.asgi import ASGIRequest
from whitenoise.middleware import WhiteNoiseFileResponse

from petservice.client_address import forwarded_scheme
from petservice.middleware import request_id_of
from petservice.monitoring.access_log import AccessRecord
from petservice.server.limits import UPLOAD_MEMORY_BYTES
from petservice.wsgi import TolerantRequest

Headers = list[tuple[bytes, bytes]]
# The status, headers and body of a response.
Response = tuple[int, Headers, bytes]
# A function that returns the next part of a body, or nothing at its end.
Receive = Callable[[], Awaitable[bytes]]

# What joins the values of repeated headers, if it is no comma. An Idempotency-Key may contain one, but no line feed.
_REPEATED = ((b"cookie", "HTTP_COOKIE", "; "), (b"idempotency-key", "HTTP_IDEMPOTENCY_KEY", "\n"))
_NOT_IN_TARGETS = re.compile(rb"[^\x21-\x7e]")
# The contents of static files that were sent. All responses with one share its bytes, or slow readers could fill the
# memory. A header `Range` would make others, and so is not read.
_FILES: dict[bytes, bytes] = {}


class Scope(AccessRecord):
    """What a connection has read of a request up to its body, and the record of the request."""

    # The body, as far as the fast path has received it.
    body = b""

    def __init__(self, parser: Any, scheme: str, server: Any, client: tuple[str, int] | None) -> None:
        """Take what gunicorn's parser has read. Raises ValueError if it is ambiguous."""
        if _NOT_IN_TARGETS.search(parser.path):
            raise ValueError("Invalid request target")
        headers = self.headers = parser.asgi_headers
        if not parser.is_chunked and parser.get_header(b"transfer-encoding") is not None:
            raise ValueError("Unsupported Transfer-Encoding")  # the parser would take the body for the next request
        # Of the body, or 0 without a Content-Length, as of a chunked one. Python reads no number above 4,300 digits.
        self.declared_bytes = int(parser.get_header(b"content-length") or 0)
        path, _, query = parser.path.partition(b"#")[0].partition(b"?")  # no browser sends a fragment
        if not path.startswith(b"/"):
            path = urlsplit(path).path  # an absolute URL, as in a request to a proxy
        self.method = parser.method.decode()
        self.scheme = scheme
        self.raw_path, self.query_string = path, query
        self.server, self.client = server if client else None, client
        # Whether the client waits for the end of the connection, as one of HTTP/1.0 does, or sends no other request.
        closes = any(name == b"connection" and b"close" in value.lower() for name, value in headers)
        self.is_last = closes or parser.http_version < (1, 1) or parser.method == b"CONNECT"


class ReceivedRequest(TolerantRequest, ASGIRequest):
    """A request of Django, which receives its body later."""

    def __init__(self, scope: Scope) -> None:
        self._received = SpooledTemporaryFile(UPLOAD_MEMORY_BYTES)  # noqa: SIM115  # closed with the request
        self._received.write(scope.body)
        found = {
            "method": scope.method,
            "path": unquote(scope.raw_path.decode()) or "/",  # with U+FFFD for what is not UTF-8
            "query_string": scope.query_string,
            "headers": scope.headers,
            "client": scope.client,
            "server": scope.server or ("", ""),  # Django requires both, for a request without a host
        }
        super().__init__(found, self._received)
        for header, name, separator in _REPEATED:
            if name in self.META:
                values = [value.decode("latin-1") for sent, value in scope.headers if sent == header]
                self.META[name] = separator.join(values)
        found["scheme"] = forwarded_scheme(self.META, settings.TRUSTED_PROXIES) or scope.scheme
        self.META.pop("HTTP_RANGE", None)
        self.declared_bytes = scope.declared_bytes
        # The connection needs the id if it refuses the rest of the request.
        self.id = scope.request_id = request_id_of(self.META)

    async def receive_body(self, receive: Receive, max_bytes: int) -> bool:
        """Receive the body, and return whether it has at most so many bytes. The rest of a larger one is not received.

        If Content-Length is above the limit, nothing is received, and the client gets no `100 Continue`.
        """
        if self.declared_bytes > max_bytes:
            return False
        size = 0
        try:
            while size <= max_bytes and (part := await receive()):
                size += len(part)
                if size > UPLOAD_MEMORY_BYTES:  # on a thread, because the file is on a disk
                    await asyncio.to_thread(self._received.write, part)
                else:
                    self._received.write(part)
        except BaseException:
            self.close()
            raise
        self.META.setdefault("CONTENT_LENGTH", str(size))  # of a chunked one
        self._received.seek(0)
        return size <= max_bytes


def encoded(response: Any) -> Response:
    """Return a response of Django in the form that a connection sends."""
    body = response.getvalue()
    if isinstance(response, WhiteNoiseFileResponse):
        body = _FILES.setdefault(body, body)
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in response.items()]
    headers += [(b"Set-Cookie", cookie.OutputString().encode("latin-1")) for cookie in response.cookies.values()]
    # A 304 has no length, because clients would read it as the length of the cached response.
    if response.status_code != 304 and "Content-Length" not in response.headers:
        headers.append((b"Content-Length", str(len(body)).encode()))
    return response.status_code, headers, body


def head(status: int, headers: Headers, *, is_last: bool) -> bytes:
    """Return the head of a response, which is the last one of its connection if `is_last`."""
    return (
        _start(status, int(time.time()), is_last) + b"".join([b"%b: %b\r\n" % header for header in headers]) + b"\r\n"
    )


@lru_cache(maxsize=64)
def _start(status: int, second: int, is_last: bool) -> bytes:
    """Return the status line and the headers of each response, which has the current second as its date."""
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", f"Date: {formatdate(second, usegmt=True)}"]
    if is_last:
        lines.append("Connection: close")
    return "".join(f"{line}\r\n" for line in lines).encode()
