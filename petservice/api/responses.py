"""Answers of the server itself, to requests that never reach Django: in the one shape of all answers."""

import uuid

from django.http import HttpResponse

from petservice.api.errors import standard_error_response


def refusal(status: int, request_id: str = "") -> HttpResponse:
    """The error envelope for `status` with the headers that every answer of the API has."""
    return completed(standard_error_response(status), request_id)


def completed(response: HttpResponse, request_id: str = "") -> HttpResponse:
    """`response` with the headers that Django's middleware would have given it; with an id of its own without one."""
    response.headers["X-Request-ID"] = request_id or uuid.uuid4().hex
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Content-Length"] = str(len(response.content))
    return response
