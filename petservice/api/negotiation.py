"""Content negotiation: every response is JSON, also if the client accepts only other types."""

from collections.abc import Iterable

from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer, BrowsableAPIRenderer
from rest_framework.request import Request


class JSONNegotiation(DefaultContentNegotiation):
    """A negotiator that ignores `Accept`, except that a browser gets the browsable API if that is enabled."""

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        """Return the renderer to use and its media type."""
        renderer, *others = renderers
        if others and "text/html" in request.headers.get("Accept", ""):
            renderer = next((one for one in others if isinstance(one, BrowsableAPIRenderer)), renderer)
        return renderer, renderer.media_type or ""
