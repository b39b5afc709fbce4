"""Request ids, the standard headers of all responses, and error responses outside views."""

import os
import re
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from django.http import HttpResponse
from rest_framework.request import Request

from petservice.api.errors import standard_error_response

# The key of the request id in a request's META.
REQUEST_ID = "petservice.request_id"

_REQUEST_ID_FORM = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)

# A small cache, because few paths have responses with URLs.
_quoted = lru_cache(maxsize=16)(quote)


def request_id_of(meta: dict[str, Any]) -> str:
    """Return the id of the request with this META: the client's own id if it is valid, or else a new one."""
    request_id: str | None = meta.get(REQUEST_ID)
    if request_id is None:
        sent = meta.get("HTTP_X_REQUEST_ID", "")
        request_id = meta[REQUEST_ID] = sent if _REQUEST_ID_FORM.fullmatch(sent) else new_request_id()
    return request_id


def new_request_id() -> str:
    """Return a new random request id."""
    return os.urandom(16).hex()


def with_standard_headers(response: HttpResponse, request_id: str) -> HttpResponse:
    """Add the headers that every response of the API and of the server has, and return the response."""
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["X-Request-ID"] = request_id
    response.headers.setdefault("Content-Length", str(len(response.content)))
    return response


def error_response_for(status: int, request_id: str = "") -> HttpResponse:
    """Return the complete error response for a status, for a request that did not reach Django."""
    return with_standard_headers(standard_error_response(status), request_id or new_request_id())


def absolute_url(request: Request) -> str:
    """Return the requested URL without its query."""
    # TransportMiddleware has already checked the Host header.
    host = request.META.get("HTTP_HOST") or request.get_host()
    plain = request._request  # Django's request, because REST framework's looks up each attribute slowly
    return f"{plain.scheme}://{host}{_quoted(plain.path)}"
