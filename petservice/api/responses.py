"""What every response of the service has: a request id and the standard headers; and responses outside any view."""

import os
import re
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from django.http import HttpResponse
from rest_framework.request import Request

from petservice.api.errors import standard_error_response

# The name under which a request's META holds its id.
REQUEST_ID = "petservice.request_id"

_REQUEST_ID_FORM = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)

# Of the few paths that are answered with addresses.
_quoted = lru_cache(maxsize=16)(quote)


def request_id_of(meta: dict[str, Any]) -> str:
    """Return the id of the request with this META: the one that its client sent, if well formed, or else a new one."""
    request_id: str | None = meta.get(REQUEST_ID)
    if request_id is None:
        sent = meta.get("HTTP_X_REQUEST_ID", "")
        request_id = meta[REQUEST_ID] = sent if _REQUEST_ID_FORM.fullmatch(sent) else new_request_id()
    return request_id


def new_request_id() -> str:
    """Return an id for a request that came without one."""
    return os.urandom(16).hex()


def with_standard_headers(response: HttpResponse, request_id: str) -> HttpResponse:
    """Return a response of the API, or of the server itself, with the headers that all of these have."""
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["X-Request-ID"] = request_id
    response.headers.setdefault("Content-Length", str(len(response.content)))
    return response


def error_response_for(status: int, request_id: str = "") -> HttpResponse:
    """Return the error envelope for a status, complete with its headers, to a request that never reached Django."""
    return with_standard_headers(standard_error_response(status), request_id or new_request_id())


def absolute_url(request: Request) -> str:
    """Return the address that was requested, without its query."""
    # The header, if there was one, has been checked by TransportMiddleware.
    host = request.META.get("HTTP_HOST") or request.get_host()
    asked = request._request  # REST framework's own request looks each attribute up in a slow way
    return f"{asked.scheme}://{host}{_quoted(asked.path)}"
