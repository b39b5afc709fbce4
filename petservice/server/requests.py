"""Django's requests, made from the scopes of ASGI and received whole before Django sees them."""

import asyncio
from collections.abc import Awaitable, Callable
from io import BytesIO
from tempfile import SpooledTemporaryFile
from typing import IO, Any
from urllib.parse import unquote_to_bytes, urlsplit

from django.conf import settings
from django.core.handlers.asgi import ASGIRequest
from django.utils.encoding import repercent_broken_unicode

from petservice.api.responses import REQUEST_ID, request_id_of
from petservice.paths import API
from petservice.server.limits import UPLOAD_MEMORY_BYTES

Receive = Callable[[], Awaitable[dict[str, Any]]]


class UnreadableTargetError(ValueError):
    """The target in the request line is no path and no URL."""


class RefusedBodyError(Exception):
    """The body cannot be taken; the message tells the client why."""


class CutBodyError(RefusedBodyError):
    """The end of the body did not arrive: its client has left, or the server has refused the rest."""


class Request(ASGIRequest):
    """Django's request, of which path and query are read as under WSGI, and the body is received later."""

    def __init__(self, scope: dict[str, Any]) -> None:
        """Raise UnreadableTargetError if the target of the scope is neither a path nor a URL."""
        target, query = scope["raw_path"], scope["query_string"]
        if b"#" in target:  # a fragment, which browsers keep to themselves
            target, query = target.partition(b"#")[0], b""
        path = unquote_to_bytes(_path(target)) if b"%" in target else _path(target)
        readable = {"path": repercent_broken_unicode(path).decode() or "/", "query_string": _text(query)}
        self.is_for_api = readable["path"].startswith(API)
        # Django closes it with the request.
        self._received: IO[bytes] = BytesIO() if self.is_for_api else SpooledTemporaryFile(UPLOAD_MEMORY_BYTES)  # noqa: SIM115
        super().__init__({**scope, **readable}, self._received)
        # For the connection, which may have to refuse the rest of the request.
        scope[REQUEST_ID] = request_id_of(self.META)

    @property
    def credential(self) -> str | None:
        """What says who the client is: the API key of a request to the API, the session of any other; unverified."""
        if self.is_for_api:
            return self.META.get("HTTP_X_API_KEY")
        return self.COOKIES.get(settings.SESSION_COOKIE_NAME)

    @property
    def is_chunked(self) -> bool:
        return "HTTP_TRANSFER_ENCODING" in self.META

    @property
    def declared_bytes(self) -> int:
        """How long the body is said to be, 0 if nothing is said or it comes in chunks."""
        return int(self.META.get("CONTENT_LENGTH", 0))

    def leave_body(self) -> None:
        """Go on as if the request had no body. The server ends the connection, as it does with unread bodies."""
        self.META["CONTENT_LENGTH"] = "0"

    async def receive_body(self, receive: Receive, max_bytes: int) -> None:
        """Receive the body; raises RefusedBodyError for one whose end did not arrive, or that is too large for a page.

        Of a body to the API no more is received than one byte beyond what its parser takes, and nothing of a body that
        is declared to be larger; its client is not even told to continue.
        """
        if not (self.is_chunked or self.declared_bytes) or (self.is_for_api and self.declared_bytes > max_bytes):
            return
        try:
            await self._receive(receive, max_bytes)
        except BaseException:
            self.close()
            raise
        if self.is_chunked:
            self.META["CONTENT_LENGTH"] = str(self._received.tell())
        self._received.seek(0)

    async def _receive(self, receive: Receive, max_bytes: int) -> None:
        more = True
        while more and not (self.is_for_api and self._received.tell() > max_bytes):
            message = await receive()
            if message["type"] == "http.disconnect":
                raise CutBodyError("The body ended early, or its chunks are malformed: send it again, whole.")
            await self._write(message["body"], max_bytes)
            more = message["more_body"]

    async def _write(self, part: bytes, max_bytes: int) -> None:
        size = self._received.tell() + len(part)
        if not self.is_for_api and max(size, self.declared_bytes) > max_bytes:
            raise RefusedBodyError(f"The body is too large: send at most {max_bytes} bytes.")
        if size > UPLOAD_MEMORY_BYTES:  # a disk may be slow
            await asyncio.to_thread(self._received.write, part)
        else:
            self._received.write(part)


def sent_request_id(headers: list[tuple[bytes, bytes]]) -> str:
    """Return the id of a request of which Django gets to see nothing: that in its headers, or else a new one."""
    sent = [value.decode("latin-1") for name, value in headers if name == b"x-request-id"]
    return request_id_of({"HTTP_X_REQUEST_ID": ",".join(sent)})


def _path(target: bytes) -> bytes:
    if target.startswith(b"/"):
        return target
    try:
        return urlsplit(target).path  # http://host/path, as to a proxy
    except ValueError as error:
        raise UnreadableTargetError from error


def _text(query: bytes) -> str:
    query = query.partition(b"#")[0]
    try:
        return query.decode()
    except UnicodeDecodeError:
        return query.decode("latin-1")
