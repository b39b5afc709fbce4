"""The error envelope, `{"error": {"code", "message"}}`, and the functions that create it."""

from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any

import orjson
from django.conf import settings
from django.core.exceptions import TooManyFieldsSent
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe
from rest_framework import exceptions
from rest_framework.response import Response

from petservice.monitoring.counters import count

# The statuses of the contract, and those of features beyond it: Idempotency-Key, rate limits, and /ready.
CODES = {
    400: "bad_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    409: "conflict",
    422: "unprocessable_content",
    429: "too_many_requests",
    500: "internal_error",
    503: "unavailable",
}
MESSAGES = {
    400: "The request is not well-formed HTTP: check its request line, its headers and, if it is chunked, its chunks.",
    403: "You do not have permission for this request.",
    404: "Unknown path or method. See /docs for the available operations.",
    408: "The request took too long to arrive: send it within 20 seconds.",  # see petservice.server.limits
    414: "The request line is too long: shorten the address.",
    431: "The headers, chunk sizes or trailers are too many or too long: send fewer or shorter ones.",
    500: "An unexpected error occurred. Try again later; if it persists, report the X-Request-ID of this answer.",
}
# Statuses of other parts that the contract does not have, and the status that replaces each.
_CONTRACT_STATUS = {405: 404, 406: 400, 408: 400, 413: 400, 414: 400, 415: 400, 431: 400}


class RequestError(exceptions.APIException):
    """An error with a status that REST framework has no class for.

    `code` names the reason in the metrics. If a retry of the same request may succeed, `wait` is the number of seconds
    before the retry.
    """

    def __init__(self, status: int, detail: str, *, code: str, wait: int | None = None) -> None:
        super().__init__(detail, code)
        self.status_code, self.wait = status, wait


def envelope(status: int, message: str) -> dict[str, dict[str, str]]:
    """Return the body of an error response with one of the statuses in CODES."""
    return {"error": {"code": CODES[status], "message": message}}


def error_response(status: int, message: str) -> HttpResponse:
    """Return an error response."""
    return HttpResponse(orjson.dumps(envelope(status, message)), "application/json", status)


def standard_error_response(status: int) -> HttpResponse:
    """Return the error response for any status, with its standard message."""
    if status not in MESSAGES:
        status = _CONTRACT_STATUS.get(status, 400 if status < 500 else 500)
    return error_response(_CONTRACT_STATUS.get(status, status), MESSAGES[status])


def exception_handler(exc: Exception, context: Mapping[str, Any]) -> Response | None:
    """Return the error response for an exception of REST framework, as REST framework's exception handler.

    Returns None for any other exception, which Django passes to an error view, or logs with its traceback.
    """
    if isinstance(exc, TooManyFieldsSent):  # Django would log a traceback
        limit = settings.DATA_UPLOAD_MAX_NUMBER_FIELDS
        exc = exceptions.ParseError(f"The URL has too many parameters: send at most {limit}.")
    if not isinstance(exc, exceptions.APIException):
        return None
    status = _CONTRACT_STATUS.get(exc.status_code, exc.status_code)
    if isinstance(exc, exceptions.UnsupportedMediaType):
        message = "The body must be JSON and be sent with the header Content-Type: application/json."
    else:
        detail: Any = exc.detail  # of a body, the errors of each field
        message = " ".join(chain(*detail.values())) if isinstance(detail, dict) else str(detail)
    code = exc.get_codes()
    count("refusals", code if isinstance(code, str) else "invalid")  # each wrong field has a code of its own
    headers = {}
    if isinstance(exc, exceptions.NotAuthenticated | exceptions.AuthenticationFailed):
        headers["WWW-Authenticate"] = exc.auth_header  # type: ignore[union-attr]  # set by APIView.handle_exception
    if isinstance(exc, RequestError) and exc.wait is not None:
        headers["Retry-After"] = str(exc.wait)
    return Response(envelope(status, message), status=status, headers=headers)


def safe_methods_only(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponseBase]:
    """Decorate a view so that methods other than GET and HEAD get the error for an unknown path, from the middleware.

    Requests with these methods get this error also if they lack a CSRF token.
    """
    return csrf_exempt(require_safe(view))
