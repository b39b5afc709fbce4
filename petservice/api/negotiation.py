"""The format of a response: JSON whatever the client accepts."""

from collections.abc import Iterable

from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer, BrowsableAPIRenderer
from rest_framework.request import Request


class JSONNegotiation(DefaultContentNegotiation):
    """Chooses JSON whatever `Accept` says; a browser gets the browsable API where that is switched on."""

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        """Return the renderer to use and its media type."""
        renderer, *others = renderers
        if others and "text/html" in request.headers.get("Accept", ""):
            renderer = next((one for one in others if isinstance(one, BrowsableAPIRenderer)), renderer)
        return renderer, renderer.media_type or ""
