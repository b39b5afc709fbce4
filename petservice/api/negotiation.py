from collections.abc import Iterable
from functools import lru_cache

from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer, BrowsableAPIRenderer
from rest_framework.request import Request


class FirstRenderer(BaseContentNegotiation):
    """Answers in JSON whatever `Accept` says; a browser gets the browsable API where that is switched on."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser | None:
        """The parser for the request's content type, or None, which becomes a refusal."""
        sent = _media_type(request.content_type or "")
        for parser in parsers:
            if parser.media_type == sent:
                return parser
        return None

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        """The renderer to use and its media type."""
        renderer, *others = renderers
        if others and "text/html" in request.headers.get("Accept", ""):
            renderer = next((one for one in others if isinstance(one, BrowsableAPIRenderer)), renderer)
        return renderer, renderer.media_type or ""


@lru_cache(maxsize=64)  # of the few that clients send
def _media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()
