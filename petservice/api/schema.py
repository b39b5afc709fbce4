"""Parts of the OpenAPI document that all operations use."""

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse
from rest_framework import serializers

from petservice.api.errors import CODES, MESSAGES

# The cause of each error, for the table of codes and for each operation that can return it.
CAUSES = {
    400: "A parameter, a header or the body is invalid. The message names it and says how to correct it.",
    401: "The API key is missing, malformed, unknown, expired or revoked.",
    403: "The key belongs to another environment or is read-only, or the request used plain HTTP where HTTPS is "
    "required.",
    404: "No resource has this ID, the path is unknown, or the path does not support the method.",
    409: "An earlier request with the same `Idempotency-Key` is still running. Retry after the number of seconds in "
    "the `Retry-After` header.",
    422: "The `Idempotency-Key` was used with another pet within the last 24 hours.",
    429: "Rate limit exceeded. Rejected requests do not count. Retry after the number of seconds in the `Retry-After` "
    "header.",
    500: "An unexpected error occurred. A GET is safe to retry; so is a POST with an `Idempotency-Key`.",
    503: "The service is not ready (outside `/v1` only).",
}
_MESSAGES = {
    **MESSAGES,
    401: "The X-API-Key header with an API key is required.",
    403: "This is a live key, but this service accepts only test keys.",
    429: "Rate limit of 60 requests per minute exceeded. Retry after the number of seconds in the Retry-After header.",
}
ERROR_CODES = sorted(CODES.values())


class ErrorDetailSerializer(serializers.Serializer[Any]):
    """A description of the error, for programs and for people."""

    code = serializers.ChoiceField(choices=ERROR_CODES, help_text="Machine-readable error code.")
    message = serializers.CharField(
        help_text="What was wrong, where, and how to correct it; for people, and may change."
    )


class ErrorResponseSerializer(serializers.Serializer[Any]):
    """The body of an error response."""

    error = ErrorDetailSerializer()


def failures(*statuses: int, messages: Mapping[int, str] | None = None) -> dict[int, OpenApiResponse]:
    """Return the error responses of an operation; `messages` replaces the example messages of some statuses."""
    own = messages or {}
    return {
        status: OpenApiResponse(
            ErrorResponseSerializer,
            description=CAUSES[status],
            examples=[
                example({"error": {"code": CODES[status], "message": own.get(status, _MESSAGES.get(status))}}, status)
            ],
        )
        for status in statuses
    }


def example(value: Any, status: int | None = None) -> OpenApiExample:
    """Return an example of a response with this status, or of a request body without one."""
    if status is None:
        return OpenApiExample("Request", value=value, request_only=True)
    return OpenApiExample("Answer", value=value, response_only=True, status_codes=[str(status)])


def response_header(
    name: str, schema: dict[str, Any], description: str, *statuses: int, required: bool = True
) -> OpenApiParameter:
    """Return the description of a header in the responses with these statuses, or in all responses without statuses."""
    return OpenApiParameter(
        name,
        schema,
        OpenApiParameter.HEADER,
        description=description,
        response=[*statuses] or True,  # drf-spectacular takes no tuple
        required=required,
    )


# The headers that the responses of all operations have, if the operation has responses with these statuses.
STANDARD_HEADERS = [
    response_header(
        "X-Request-ID",
        {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$", "example": "6f1c0a5e9b3d4f7c8a2e1d0b9c8f7a6e"},
        "Request ID, for support. Echoes your `X-Request-ID` if it is valid; otherwise generated.",
    ),
    response_header(
        "WWW-Authenticate",
        {"type": "string", "example": 'ApiKey header="X-API-Key"'},
        "Names the header that must contain the API key.",
        401,
    ),
    response_header(
        "Retry-After",
        {"type": "integer", "minimum": 1, "example": 1},
        "Seconds to wait before the next attempt.",
        409,
        429,
    ),
]
