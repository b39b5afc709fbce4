"""Django for gunicorn's event loop: requests are read and answers sent on the loop, and Django is called from it.

The loop reads each request whole before it calls, so a slow client holds up nobody. The API is called on the loop's own
thread, in lanes (petservice.server.greenlets); whatever may compute or wait for long, on threads
(petservice.server.threads).
"""

import asyncio
import io
import logging
import sys
import tempfile
from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import IO, Any
from urllib.parse import unquote_to_bytes, urlsplit

from petservice.wsgi import application as wsgi_application

# The import above sets Django up, which those below need.
# isort: split
from django.conf import settings
from django.db import connection
from django.http import HttpResponse

from petservice.api.errors import error_response
from petservice.api.parsers import MAX_BODY_BYTES
from petservice.api.responses import completed, refusal
from petservice.handler import API, Handler
from petservice.health import not_ready
from petservice.middleware import HEALTH, READINESS, request_identity
from petservice.monitoring.access_log import OBSERVATION
from petservice.monitoring.logs import request_id
from petservice.server.greenlets import Lanes
from petservice.server.threads import Call, CallThreads

logger = logging.getLogger(__name__)

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

# The most that staff may upload. Django has limits of its own for what is no file.
MAX_UPLOAD_BYTES = 128 * 1024 * 1024
# What of an upload is kept in memory; the rest goes to a temporary file.
UPLOAD_MEMORY = 256 * 1024


class Application:
    """The ASGI application around Django's handler."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._is_on_sqlite = connection.vendor == "sqlite"
        # What reads never queues behind what waits to write.
        self._reads = Lanes(settings.READ_LANES, settings.CALL_PATIENCE)
        self._writes = Lanes(settings.WRITE_LANES, settings.CALL_PATIENCE)
        self.lanes = {"reads": self._reads, "writes": self._writes}
        # Nor a page behind what waits to write on a thread, nor the readiness probe behind a page.
        self._writing = CallThreads("writing", settings.WRITE_THREADS)
        self._pages = CallThreads("pages", settings.PAGE_THREADS)
        self._probe = CallThreads("probe", 1)
        self.threads = (self._writing, self._pages, self._probe)
        # The health check touches nothing: its answer is always the same, but for the request id. So it is asked for
        # once, and then given at once.
        self._health = {scheme: health_answer(handler, scheme) for scheme in ("http", "https")}

    def close(self) -> None:
        """Let go of what is kept between calls."""
        self._reads.close()
        self._writes.close()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        environ = wsgi_environ(scope)
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        if OBSERVATION in scope:
            environ[OBSERVATION] = scope[OBSERVATION]
            scope[OBSERVATION].came_from(environ)
        if environ.get("HTTP_EXPECT", "100-continue").lower() != "100-continue":
            await _send_response(send, refusal(417, _identity(environ)), method)
        elif path == HEALTH and method in ("GET", "HEAD") and not settings.DEBUG:  # then it can be a page
            await self._send_health(environ, send)
        else:
            await self._call(environ, receive, send)

    async def _send_health(self, environ: dict[str, Any], send: Send) -> None:
        if OBSERVATION in environ:
            environ[OBSERVATION].route = HEALTH
        headers, body = self._health[environ["wsgi.url_scheme"]]
        identity = _identity(environ).encode("ascii")
        body = b"" if environ["REQUEST_METHOD"] == "HEAD" else body
        await send({"type": "http.response.start", "status": 200, "headers": [*headers, (b"X-Request-ID", identity)]})
        await send({"type": "http.response.body", "body": body})

    async def _send_readiness(self, environ: dict[str, Any], receive: Receive, send: Send) -> None:
        # A database that is silent would keep who asks waiting for as long as it is.
        try:
            async with asyncio.timeout(settings.CALL_PATIENCE):
                await Call(self._handler, environ).answer(self._probe, receive, send)
        except TimeoutError:
            if OBSERVATION in environ:
                environ[OBSERVATION].route = READINESS
            await _send_response(send, completed(not_ready(), _identity(environ)), environ["REQUEST_METHOD"])

    async def _call(self, environ: dict[str, Any], receive: Receive, send: Send) -> None:
        path = environ["PATH_INFO"]
        is_api = path.startswith(API)
        if "HTTP_TRANSFER_ENCODING" in environ or environ.get("CONTENT_LENGTH", "0") != "0":
            try:
                environ["wsgi.input"] = await (_api_body if is_api else _upload)(environ, receive)
            except _RefusedError as error:
                response = completed(error_response(400, str(error)), _identity(environ))
                await _send_response(send, response, environ["REQUEST_METHOD"])
                return
        if path == READINESS:
            await self._send_readiness(environ, receive, send)
        elif not is_api:
            await Call(self._handler, environ).answer(self._pages, receive, send)
        elif self._is_on_sqlite and "HTTP_IDEMPOTENCY_KEY" in environ:
            # A transaction of several statements, which may have to wait for the one lock of all writers.
            await Call(self._handler, environ).answer(self._writing, receive, send)
        else:
            method = environ["REQUEST_METHOD"]
            lanes = self._reads if method in ("GET", "HEAD") else self._writes
            try:
                response = await lanes.call(self._handler.api_answer, environ)
            except TimeoutError as error:
                response = refusal(500, _identity(environ))
                token = request_id.set(response["X-Request-ID"])
                logger.error("%s %r failed: %s", method, path, error)
                request_id.reset(token)
            await _send_response(send, response, method)


def _identity(environ: dict[str, Any]) -> str:
    return request_identity(environ.get("HTTP_X_REQUEST_ID", ""))


class _RefusedError(Exception):
    """A body that Django does not get to see."""


async def _api_body(environ: dict[str, Any], receive: Receive) -> IO[bytes]:
    """What the parser needs to judge the body: no more than one byte beyond its bound, and nothing of what is declared
    to be larger, for which the client is not even told to continue."""
    is_chunked = "HTTP_TRANSFER_ENCODING" in environ
    if not is_chunked and int(environ["CONTENT_LENGTH"]) > MAX_BODY_BYTES:
        return io.BytesIO()
    body = bytearray()
    more = True
    while more and len(body) <= MAX_BODY_BYTES:
        message = await receive()
        if message["type"] == "http.disconnect":
            return _CutBody() if is_chunked else io.BytesIO(body)
        body += message["body"]
        more = message["more_body"]
    if is_chunked:
        environ["CONTENT_LENGTH"] = str(len(body))
    return io.BytesIO(body)


async def _upload(environ: dict[str, Any], receive: Receive) -> IO[bytes]:
    """The whole body, in a temporary file where it is large. A form that was cut off must not be taken for a whole."""
    body = tempfile.SpooledTemporaryFile(UPLOAD_MEMORY)  # noqa: SIM115  # closed at the end of the call
    size = 0
    more = True
    try:
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _RefusedError("The body ended early: send it again, whole.")
            size += len(message["body"])
            if max(size, int(environ.get("CONTENT_LENGTH", 0))) > MAX_UPLOAD_BYTES:
                raise _RefusedError(f"The body is too large: send at most {MAX_UPLOAD_BYTES} bytes.")
            if size > UPLOAD_MEMORY:  # a disk may be slow
                await asyncio.to_thread(body.write, message["body"])
            else:
                body.write(message["body"])
            more = message["more_body"]
    except BaseException:
        body.close()
        raise
    environ["CONTENT_LENGTH"] = str(size)
    body.seek(0)
    return body


class _CutBody(io.BytesIO):
    """A chunked body without its end: an unreadable input to Django."""

    def read(self, size: int | None = -1, /) -> bytes:
        raise OSError("The body ended early, or its chunks are malformed.")


def wsgi_environ(scope: Message) -> dict[str, Any]:
    """What WSGI says of a request that ASGI describes, as gunicorn's own WSGI workers would say it."""
    path, query = scope["raw_path"], scope["query_string"]
    if b"#" in path:  # which browsers keep to themselves
        path, query = path.partition(b"#")[0], b""
    if not path.startswith(b"/"):  # http://host/path, as to a proxy
        path = urlsplit(path).path
    if b"%" in path:
        path = unquote_to_bytes(path)
    server, client = scope["server"], scope["client"]
    environ = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": scope["root_path"],
        "PATH_INFO": path.decode("latin-1"),
        "QUERY_STRING": query.partition(b"#")[0].decode("latin-1"),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        # A unix socket has neither address.
        "SERVER_NAME": server[0] if server else "localhost",
        "SERVER_PORT": str(server[1]) if server else "80",
        "REMOTE_ADDR": client[0] if client else "",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope["scheme"],
        "wsgi.input": io.BytesIO(),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    if client:
        environ["REMOTE_PORT"] = str(client[1])
    for name, value in scope["headers"]:
        variable = _variable(name)
        text = value.decode("latin-1")
        environ[variable] = f"{environ[variable]},{text}" if variable in environ else text
    return environ


@lru_cache(maxsize=256)
def _variable(header: bytes) -> str:
    name = header.decode("latin-1").upper().replace("-", "_")
    return name if name in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{name}"


def health_answer(handler: Handler, scheme: str) -> tuple[Headers, bytes]:
    """What the health check answers: its headers, but for the request id, and its body."""
    scope = {
        **{"method": "GET", "scheme": scheme, "raw_path": HEALTH.encode(), "query_string": b"", "root_path": ""},
        **{"http_version": "1.1", "server": None, "client": None, "headers": []},
    }
    answer = handler.api_answer(wsgi_environ(scope))
    return [header for header in _encoded(answer) if header[0] != b"X-Request-ID"], answer.content


async def _send_response(send: Send, response: HttpResponse, method: str) -> None:
    await send({"type": "http.response.start", "status": response.status_code, "headers": _encoded(response)})
    await send({"type": "http.response.body", "body": b"" if method == "HEAD" else response.content})


def _encoded(response: HttpResponse) -> Headers:
    cookies = (("Set-Cookie", cookie.OutputString()) for cookie in response.cookies.values())
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in (*response.items(), *cookies)]


application = Application(wsgi_application)
