"""Pieces of the OpenAPI document that every operation uses."""

from typing import Any

from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework import serializers

from petservice.api.errors import CODES


class ErrorDetailSerializer(serializers.Serializer[Any]):
    code = serializers.ChoiceField(choices=sorted(CODES.values()), help_text="Machine-readable code.")
    message = serializers.CharField(help_text="What was wrong and how to mend it, for people.")


class ErrorResponseSerializer(serializers.Serializer[Any]):
    """The body of every failure."""

    error = ErrorDetailSerializer()


_CAUSES = {
    400: "The request is malformed: a parameter, a header or the body. The message names it.",
    401: "No API key, or one that is unknown, expired or revoked.",
    403: "The key may not do this, belongs to another environment, or was sent over plain HTTP.",
    404: "Nothing is found at this address.",
    409: "A request with the same Idempotency-Key is still running.",
    422: "The Idempotency-Key was used with another body.",
    500: "An unexpected condition in the service.",
}


def failures(*statuses: int) -> dict[int, OpenApiResponse]:
    """The responses of an operation for these statuses."""
    return {status: OpenApiResponse(ErrorResponseSerializer, description=_CAUSES[status]) for status in statuses}


def response_header(name: str, description: str, *statuses: int) -> OpenApiParameter:
    """A header of the answers with these statuses."""
    return OpenApiParameter(name, str, OpenApiParameter.HEADER, description=description, response=list(statuses))


def standard_headers(*statuses: int) -> list[OpenApiParameter]:
    """The headers that answers with these statuses always have."""
    headers = [
        response_header("X-Request-ID", "Identifies this request in the service's logs; kept if sent.", *statuses)
    ]
    if 401 in statuses:
        headers.append(response_header("WWW-Authenticate", "The challenge: which header is to hold the key.", 401))
    return headers
