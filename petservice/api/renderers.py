"""The renderers of response bodies: compact JSON, and in development the pages of the browsable API."""

from collections.abc import Mapping
from typing import Any

import orjson
from rest_framework.renderers import BaseRenderer
from rest_framework.renderers import BrowsableAPIRenderer as StandardBrowsableAPIRenderer


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


class BrowsableAPIRenderer(StandardBrowsableAPIRenderer):
    """A renderer of the browsable API, with indented JSON and an example in the form of a request body."""

    def get_content(self, renderer: Any, data: Any, accepted_media_type: Any, renderer_context: Any) -> str:
        return _indented(data)

    def get_raw_data_form(self, data: Any, view: Any, method: str, request: Any) -> Any:
        form = super().get_raw_data_form(data, view, method, request)
        if form and method == "POST":
            form.initial["_content"] = _indented(view.example_body)
        return form


def _indented(data: Any) -> str:
    return "" if data is None else orjson.dumps(data, option=orjson.OPT_INDENT_2).decode()
