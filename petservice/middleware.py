"""The service's middleware: request ids, the error envelope, pages, HTTPS and host, migrations.

The server calls some of its functions for requests that do not reach the middleware.
"""

import logging
import os
import re
from time import time
from typing import Any, cast

from csp.middleware import CSPMiddleware
from django.conf import settings
from django.core.exceptions import BadRequest, DisallowedHost
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase, HttpResponseForbidden
from django.utils import timezone
from django.utils.deprecation import MiddlewareMixin

from petservice import paths
from petservice.admin_pages.staff_page import failure_page
from petservice.api.errors import error_response, standard_error_response
from petservice.api.readiness import readiness
from petservice.apikeys import keys, usage
from petservice.client_address import address_of
from petservice.db.pending_migrations import BEING_UPDATED
from petservice.monitoring.counters import count
from petservice.monitoring.logs import request_id as logged_request_id
from petservice.monitoring.logs import trace_id
from petservice.monitoring.telemetry import trace_id_of

logger = logging.getLogger(__name__)

# The key of the request id in a request's META.
_REQUEST_ID = "petservice.request_id"
_VALID_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)
# Headers that only pages need, from Django, and `Allow` from REST framework, because the API offers no OPTIONS and
# no response of it is a 405.
_HEADERS_OF_PAGES = (
    *("Allow", "Cross-Origin-Opener-Policy", "Referrer-Policy", "Strict-Transport-Security", "Vary"),
    "X-Frame-Options",
)


def request_id_of(meta: dict[str, Any]) -> str:
    """Return the id of the request with this META: the client's own id if it is valid, or else a new one."""
    request_id: str | None = meta.get(_REQUEST_ID)
    if request_id is None:
        sent = meta.get("HTTP_X_REQUEST_ID", "")
        request_id = meta[_REQUEST_ID] = sent if _VALID_REQUEST_ID.fullmatch(sent) else os.urandom(16).hex()
    return request_id


def with_standard_headers(response: HttpResponse, request_id: str) -> HttpResponse:
    """Add the headers that every response of the API and of the server has, and return the response."""
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["X-Request-ID"] = request_id
    response.headers.setdefault("Content-Length", str(len(response.content)))
    return response


def _is_page(request: HttpRequest) -> bool:
    if request.path_info in paths.PAGES:
        return request.method in ("GET", "HEAD")
    return request.path_info.startswith(paths.SECTIONS)


class EnvelopeMiddleware(MiddlewareMixin):
    """Middleware that gives each request its id, and each response of the API its headers and error envelope.

    It also counts the use of API keys.
    """

    def __call__(self, request: HttpRequest) -> Any:
        request_id = request_id_of(request.META)
        token = logged_request_id.set(request_id)
        trace_id.set(trace_id_of(request.META.get("HTTP_TRACEPARENT", "")))
        try:
            response: Any = self.get_response(request)
        finally:
            logged_request_id.reset(token)
        if not _is_page(request):
            key = getattr(request, "auth", None)
            if key is not None:  # only valid keys get here, so that a guess cannot mark a key as used
                usage.recorder.count(key.id, response.status_code, time(), address_of(request))
            return with_standard_headers(self._as_api_response(response), request_id)
        response.headers["X-Request-ID"] = request_id
        if isinstance(response, HttpResponse):  # not a stream, so its length is known and it needs no chunks
            response.headers.setdefault("Content-Length", str(len(response.content)))
        return response

    def _as_api_response(self, response: HttpResponseBase) -> HttpResponse:
        is_json = response.headers.get("Content-Type", "").startswith("application/json")
        if response.status_code >= 400 and not is_json and not hasattr(response, "accepted_renderer"):
            # An HTML response of Django, such as a debug page. API clients get the standard message of its status.
            response = standard_error_response(response.status_code)
        for name in _HEADERS_OF_PAGES:
            response.headers.pop(name, None)
        if not settings.DEBUG:  # the browsable API needs its CSRF cookie
            response.cookies.clear()
        return cast(HttpResponse, response)  # only pages are streamed


class PageMiddleware(CSPMiddleware):
    """Middleware that sends the Content-Security-Policy with every page, whose times are in the store's time zone."""

    def __call__(self, request: HttpRequest) -> Any:
        if not _is_page(request):
            return self.get_response(request)
        with timezone.override(settings.STORE_TIME_ZONE):
            return super().__call__(request)


class RefusalMiddleware(MiddlewareMixin):
    """Middleware that refuses plain HTTP where HTTPS is required, then unknown hosts, then forms not in UTF-8.

    Browsers send forms in UTF-8. Other encodings can contain characters that no database can store. Last, it refuses
    pages of the admin while migrations are pending.
    """

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        if request.path_info in paths.PROBES:
            return None
        if settings.REQUIRE_HTTPS and not request.is_secure():
            count("refusals", "plain_http")
            plain = request.META.get("HTTP_X_API_KEY", "")
            if keys.environment_of(plain):
                prefix = keys.prefix(plain)
                logger.warning("A key was sent over plain HTTP, which others can read; rotate it: %s", prefix)
            if _is_page(request):
                return HttpResponseForbidden("Use https:// to open this page.")
            message = "This service answers over HTTPS only: use an https:// URL, and replace the key if one was sent."
            return error_response(403, message)
        try:
            request.get_host()
        except DisallowedHost:
            count("refusals", "unknown_host")
            if _is_page(request):
                message = "This address is not set up for the pet service. Use the address that you were given."
                return HttpResponse(message, status=400)
            message = "The Host header names a host that this service does not serve: use its documented address."
            return error_response(400, message)
        if _is_page(request) and (request.content_params or {}).get("charset", "utf-8").lower() != "utf-8":
            raise BadRequest("The form is not in UTF-8.")
        if request.path_info.startswith(paths.ADMIN) and readiness.has_pending_migrations():
            return failure_page(500, "Being updated", BEING_UPDATED)
        return None
