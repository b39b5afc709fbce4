"""The parser of request bodies, a JSON object of limited size, and its choice by the Content-Type."""

from collections.abc import Mapping
from typing import IO, Any

import orjson
from rest_framework.exceptions import ParseError
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

MAX_BODY_BYTES = 64 * 1024


class ContentNegotiation(BaseContentNegotiation):
    """The choice of a parser and a renderer; REST framework's would take a Content-Type such as `*/*` for JSON."""

    def select_parser(self, request: Request, parsers: Any) -> BaseParser | None:
        media_type = request.content_type.partition(";")[0].strip().lower()  # its parameters say nothing here
        return next((parser for parser in parsers if parser.media_type == media_type), None)

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:
        # A client that accepts no JSON gets JSON. The last renderer is the browsable API, if there is one.
        renderer = renderers[-1 if "text/html" in request.META.get("HTTP_ACCEPT", "") else 0]
        return renderer, renderer.media_type


class JSONParser(BaseParser):
    """A parser of JSON objects of at most MAX_BODY_BYTES, which refuses everything else with 400."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        headers = parser_context["request"].META if parser_context else {}
        if headers.get("HTTP_CONTENT_ENCODING", "").lower() not in ("", "identity"):
            raise ParseError("Content-Encoding is not supported: send the body as plain JSON, without this header.")
        # A chunked body marks its own end.
        declared = 0 if "HTTP_TRANSFER_ENCODING" in headers else int(headers.get("CONTENT_LENGTH") or 0)
        # One byte more than the limit shows that a body is too large, also if it is chunked.
        try:
            body = stream.read(MAX_BODY_BYTES + 1)
        except Exception:  # the client has left, or an error of the server at malformed chunks
            raise ParseError(
                "The body could not be read: it ended early, or its chunks are malformed. Send it again."
            ) from None
        if max(declared, len(body)) > MAX_BODY_BYTES:
            raise ParseError(f"The body is too large: send at most {MAX_BODY_BYTES} bytes.")
        if len(body) < declared:  # the beginning of a body can be valid JSON too
            raise ParseError("The body is shorter than its Content-Length: send it again, whole.")
        try:
            value = orjson.loads(body.decode())
        except UnicodeDecodeError:
            raise ParseError("The body is not UTF-8: encode the JSON text in UTF-8.") from None
        except orjson.JSONDecodeError as error:
            raise ParseError(
                f'The body is not valid JSON ({error}): send an object, for example {{"name": "Rex"}}.'
            ) from None
        if not isinstance(value, dict):
            raise ParseError('The body must be a JSON object, for example {"name": "Rex"}.')
        return value
