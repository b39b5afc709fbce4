"""The body of a request: a JSON object of limited size."""

from collections.abc import Mapping
from typing import IO, Any

import orjson
from django.http import UnreadablePostError
from rest_framework.parsers import BaseParser

from petservice.api.errors import BadRequest

MAX_BODY_BYTES = 64 * 1024


class JSONParser(BaseParser):
    """A JSON object of at most MAX_BODY_BYTES; anything else is refused with 400."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        headers = parser_context["request"].META if parser_context else {}
        # Of what is declared to be too large, nothing is read.
        if "HTTP_TRANSFER_ENCODING" not in headers and int(headers.get("CONTENT_LENGTH") or 0) > MAX_BODY_BYTES:
            raise _too_large()
        # One byte more tells a body that is too large from one that just fits, however it was declared.
        try:
            body = stream.read(MAX_BODY_BYTES + 1)
        except UnreadablePostError:
            raise BadRequest(
                "The body could not be read: it ended early, or its chunks are malformed. Send it again."
            ) from None
        if headers and _is_cut_short(body, headers):
            raise BadRequest("The body is shorter than its Content-Length: send it again, whole.")
        if len(body) > MAX_BODY_BYTES:
            raise _too_large()
        try:
            value = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise BadRequest(
                f'The body is not valid JSON ({error}): send an object, for example {{"name": "Rex"}}.'
            ) from None
        if not isinstance(value, dict):
            raise BadRequest('The body must be a JSON object, for example {"name": "Rex"}.')
        return value


def _too_large() -> BadRequest:
    return BadRequest(f"The body is too large: send at most {MAX_BODY_BYTES} bytes.")


def _is_cut_short(body: bytes, headers: Mapping[str, Any]) -> bool:
    # What arrived of a broken transfer may be JSON by chance. A chunked body tells its end by itself.
    if "HTTP_TRANSFER_ENCODING" in headers:
        return False
    return len(body) < min(int(headers["CONTENT_LENGTH"]), MAX_BODY_BYTES + 1)
