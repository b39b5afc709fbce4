"""The renderers of responses: JSON, and in development the pages of the browsable API."""

from typing import Any

import orjson
from rest_framework.renderers import BaseRenderer
from rest_framework.renderers import BrowsableAPIRenderer as StandardBrowsableAPIRenderer


class JSONRenderer(BaseRenderer):
    """A renderer that writes every character as it is; REST framework's own escapes two line separators."""

    media_type = "application/json"
    format = "json"
    charset = None

    def render(self, data: Any, accepted_media_type: str | None = None, renderer_context: Any = None) -> bytes:
        is_for_a_page = "indent" in (renderer_context or {})
        return orjson.dumps(data, option=orjson.OPT_INDENT_2 if is_for_a_page else None)


class BrowsableAPIRenderer(StandardBrowsableAPIRenderer):
    """A renderer of the browsable API, with an example in the form of a request body."""

    def get_raw_data_form(self, data: Any, view: Any, method: str, request: Any) -> Any:
        form = super().get_raw_data_form(data, view, method, request)
        if form and method == "POST":
            form.initial["_content"] = orjson.dumps(view.example_body, option=orjson.OPT_INDENT_2).decode()
        return form
