"""The renderer of responses."""

from typing import Any

import orjson
from rest_framework.renderers import BaseRenderer


class JSONRenderer(BaseRenderer):
    """A renderer that writes every character as it is; REST framework's own escapes two line separators."""

    media_type = "application/json"
    format = "json"
    charset = None

    def render(self, data: Any, accepted_media_type: str | None = None, renderer_context: Any = None) -> bytes:
        is_for_a_page = "indent" in (renderer_context or {})
        return orjson.dumps(data, option=orjson.OPT_INDENT_2 if is_for_a_page else None)
