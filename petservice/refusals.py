"""Answers of the server itself, to requests that never reach Django: in the one shape of all answers."""

import uuid

from django.http import HttpResponse

from petservice.api.errors import standard_error_response


def refusal(status: int) -> HttpResponse:
    """The error envelope for `status` with the headers that every answer of the API has."""
    return completed(standard_error_response(status))


def completed(response: HttpResponse) -> HttpResponse:
    """`response` with the headers that Django's middleware would have given it."""
    response.headers["X-Request-ID"] = uuid.uuid4().hex
    response.headers["Cache-Control"] = "no-store"
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Content-Length"] = str(len(response.content))
    return response
