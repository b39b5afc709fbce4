"""A cache of responses that are the same for all clients: pages without login, static files, unknown paths.

Without this module, each such response is made on a thread, which takes several times the CPU. Each client that reads a
static file slowly holds its own copy of the file.
"""

from collections import OrderedDict
from typing import Any, NamedTuple

from django.conf import settings

from petservice.handler import Handler
from petservice.paths import ADMIN, DOCUMENT, PAGES, STATIC
from petservice.server.limits import MAX_PUBLIC_BYTES
from petservice.server.messages import Headers, Request, Response

# The path or UNKNOWN, what else the response depends on, the scheme, and the Host header.
Key = tuple[str, str, str, str]

UNKNOWN = "unknown"
LOGIN_REDIRECT = "redirect to the login"
REJECTED_LOGIN = "rejected login"
# Statuses of cached responses, where they are not just 200.
_STATUSES = {UNKNOWN: (404,), LOGIN_REDIRECT: (302,), REJECTED_LOGIN: (429,)}
# Estimated size of a cached response without its body, in bytes.
_OVERHEAD = 4096


class Kept(NamedTuple):
    """A cached response without its request id, with the URL pattern of its request for the access log."""

    status: int
    headers: Headers
    body: bytes
    resolver_match: Any

    @property
    def size(self) -> int:
        return len(self.body) + _OVERHEAD


class PublicResponses:
    """A cache of the most recently used responses, up to MAX_PUBLIC_BYTES."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._kept: OrderedDict[Key, Kept] = OrderedDict()
        self._size = 0

    def key_of(self, request: Request) -> Key | None:
        """Return the cache key of a request, or None if its response may depend on the client."""
        if not is_plain(request):
            return None
        path = request.path_info
        if path not in (*PAGES, DOCUMENT) and not path.startswith(STATIC):
            if path.startswith(ADMIN) or not self._handler.is_unknown(path):
                return None
            path = UNKNOWN
        return path, "", request.scheme or "", request.META.get("HTTP_HOST", "")

    def get(self, key: Key, request: Request) -> Response | None:
        """Return the cached response to a request, or None."""
        kept = self._kept.get(key)
        if kept is None:
            return None
        self._kept.move_to_end(key)
        request.resolver_match = kept.resolver_match
        headers = [*kept.headers, (b"X-Request-ID", request.id.encode())]
        if _client_has(kept, request):
            return 304, [(name, value) for name, value in headers if not name.startswith(b"Content-")], b""
        return kept.status, headers, kept.body

    def keep(self, key: Key, request: Request, response: Response) -> None:
        """Add a response to the cache if it is the same for all requests with this key."""
        status, headers, body = response
        is_public = not any(name in (b"Set-Cookie", b"Vary") for name, _ in headers)
        if request.method == "HEAD" or not is_public or status not in _STATUSES.get(key[0], (200,)):
            return
        if key in self._kept:
            self._size -= self._kept.pop(key).size
        headers = [(name, value) for name, value in headers if name != b"X-Request-ID"]
        kept = self._kept[key] = Kept(status, headers, body, request.resolver_match)
        self._size += kept.size
        while self._size > MAX_PUBLIC_BYTES:
            self._size -= self._kept.popitem(last=False)[1].size


def is_plain(request: Request) -> bool:
    """Return whether a request only asks for a path, in the representation that all clients get."""
    meta = request.META
    has_body = request.declared_bytes or request.is_chunked or "CONTENT_TYPE" in meta
    is_read = request.method in ("GET", "HEAD") and not has_body
    if meta["QUERY_STRING"].count("&") >= settings.DATA_UPLOAD_MAX_NUMBER_FIELDS:
        return False  # Django refuses it with an exception
    return is_read and "*/*" in meta.get("HTTP_ACCEPT", "*/*") and not settings.DEBUG


def _client_has(kept: Kept, request: Request) -> bool:
    """Return whether the request's conditional headers say that the client has this response."""
    etag, modified = request.META.get("HTTP_IF_NONE_MATCH"), request.META.get("HTTP_IF_MODIFIED_SINCE")
    sent, own = (modified, b"Last-Modified") if etag is None else (etag, b"ETag")
    return sent is not None and (own, sent.encode("latin-1", "replace")) in kept.headers
