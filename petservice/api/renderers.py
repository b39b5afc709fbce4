"""The renderer of response bodies: compact JSON."""

from collections.abc import Mapping
from typing import Any

import orjson
from rest_framework.renderers import BaseRenderer


class JSONRenderer(BaseRenderer):
    """A renderer of compact JSON in UTF-8 (RFC 8259)."""

    media_type = "application/json"
    format = "json"
    charset = None  # JSON is always UTF-8, and its media type has no charset parameter

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        """Return the data as JSON, or nothing for a response without a body."""
        return b"" if data is None else orjson.dumps(data)
