"""The body of a response: JSON without blanks."""

from collections.abc import Mapping
from typing import Any

import orjson
from rest_framework.renderers import BaseRenderer


class JSONRenderer(BaseRenderer):
    """UTF-8 JSON (RFC 8259), without the blanks."""

    media_type = "application/json"
    format = "json"
    charset = None  # JSON has but one; no parameter is defined for it

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        """The bytes of `data`; nothing for an answer without a body."""
        return b"" if data is None else orjson.dumps(data)
