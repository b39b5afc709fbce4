"""The conversion of what a connection has parsed into Django's requests, and of Django's responses into bytes."""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from io import BytesIO
from tempfile import SpooledTemporaryFile
from typing import IO, Any
from urllib.parse import quote, unquote_to_bytes, urlsplit

from django.conf import settings

from petservice.client_address import forwarded_scheme
from petservice.middleware import request_id_of
from petservice.monitoring.access_log import AccessRecord
from petservice.paths import API
from petservice.server.limits import UPLOAD_MEMORY_BYTES
from petservice.wsgi import UNKNOWN_LENGTH, Request

Headers = list[tuple[bytes, bytes]]
# The status, headers and body of a response.
Response = tuple[int, Headers, bytes]
# A function that returns the next part of a body, or nothing at its end.
Receive = Callable[[], Awaitable[bytes]]
Send = Callable[[Response], Awaitable[None]]

# What joins the values of a repeated header. An Idempotency-Key may contain a comma, but no line feed.
_SEPARATORS = {"HTTP_COOKIE": "; ", "HTTP_IDEMPOTENCY_KEY": "\n"}
_NOT_IN_TARGETS = re.compile(rb"[^\x21-\x7e]")


class Scope(AccessRecord):
    """What a connection has read of a request up to its body, and the record of the request."""

    # The body, as far as the fast path has received it.
    body = b""

    def __init__(self, parser: Any, scheme: str, server: Any, client: tuple[str, int] | None) -> None:
        """Take what gunicorn's parser has read. Raises ValueError if it is ambiguous."""
        if _NOT_IN_TARGETS.search(parser.path):
            raise ValueError("Invalid request target")
        headers = [header for header in parser.asgi_headers if b"_" not in header[0]]  # Django reads `_` like `-`
        if not parser.is_chunked and any(name == b"transfer-encoding" for name, _ in headers):
            raise ValueError("Unsupported Transfer-Encoding")  # the parser would take the body for the next request
        path, _, query = parser.path.partition(b"#")[0].partition(b"?")  # no browser sends a fragment
        if not path.startswith(b"/"):
            path = urlsplit(path).path  # an absolute URL, as in a request to a proxy
        self.method = parser.method.decode()
        self.scheme = scheme
        self.raw_path, self.query_string = path, query
        self.headers = headers
        self.server, self.client = server if client else None, client
        # Whether the client waits for the end of the connection, or says that it sends no other request. The parser
        # takes the last of several `Connection` headers, and a client of HTTP/1.0 knows no other end.
        closes = any(name == b"connection" and b"close" in value.lower() for name, value in headers)
        is_old = parser.http_version < (1, 1)
        self.is_last = closes or is_old or not parser.should_keep_alive or parser.method == b"CONNECT"


class ReceivedRequest(Request):
    """A request of Django, as under any WSGI server, which receives its body later."""

    def __init__(self, scope: Scope) -> None:
        environ = _environ(scope)
        self.is_for_api = environ["PATH_INFO"].startswith(API)
        self._received: IO[bytes] = BytesIO() if self.is_for_api else SpooledTemporaryFile(UPLOAD_MEMORY_BYTES)  # noqa: SIM115
        self._received.write(scope.body)
        environ["wsgi.input"] = self._received
        super().__init__(environ)
        # The connection needs the id if it refuses the rest of the request.
        self.id = scope.request_id = request_id_of(environ)

    @property
    def is_chunked(self) -> bool:
        return "HTTP_TRANSFER_ENCODING" in self.META

    @property
    def declared_bytes(self) -> int:
        """The length of the body by its Content-Length, or 0 without one."""
        return 0 if self.is_chunked else int(self.META.get("CONTENT_LENGTH", 0))

    def close(self) -> None:
        super().close()
        self._received.close()

    async def receive_body(self, receive: Receive, max_bytes: int) -> bool:
        """Receive the body, and return whether it has at most so many bytes. The rest of a larger one is not received.

        If Content-Length is above the limit, nothing is received, and the client gets no `100 Continue`.
        """
        if self.declared_bytes > max_bytes:
            return False
        size = 0
        try:
            while size <= max_bytes and (self.is_chunked or self.declared_bytes) and (part := await receive()):
                size += len(part)
                if size > UPLOAD_MEMORY_BYTES:  # on a thread, because the file is on a disk
                    await asyncio.to_thread(self._received.write, part)
                else:
                    self._received.write(part)
        except BaseException:
            self._received.close()
            raise
        if self.is_chunked:
            self.META["CONTENT_LENGTH"] = str(size)
        self._received.seek(0)
        return size <= max_bytes


def _environ(scope: Scope) -> dict[str, Any]:
    """Return the WSGI environment of a request, without its body."""
    path = unquote_to_bytes(scope.raw_path)
    try:
        path.decode()
        path_info = path.decode("latin-1")
    except UnicodeDecodeError:
        # Not Django's function, which takes milliseconds for a long path of a stranger. No path of ours is like this.
        path_info = quote(path)
    name, port, *_ = scope.server or ("", "")  # Django requires both, for a request without a host
    environ = {
        "REQUEST_METHOD": scope.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": path_info,
        "QUERY_STRING": scope.query_string.decode("latin-1"),
        "SERVER_NAME": name,
        "SERVER_PORT": str(port),
    }
    if scope.client:
        environ["REMOTE_ADDR"] = scope.client[0]
    for header, value in scope.headers:
        name = header.decode("latin-1").upper().replace("-", "_")
        name = name if name in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{name}"
        text = value.decode("latin-1")
        environ[name] = environ[name] + _SEPARATORS.get(name, ",") + text if name in environ else text
    environ["wsgi.url_scheme"] = forwarded_scheme(environ, settings.TRUSTED_PROXIES) or scope.scheme
    if "HTTP_TRANSFER_ENCODING" in environ:
        environ["CONTENT_LENGTH"] = UNKNOWN_LENGTH
    return environ


def encoded(response: Any) -> Response:
    """Return a response of Django in the form that a connection sends."""
    body = response.getvalue()
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
