"""The base class of the API's viewsets, and their fast request class."""

from functools import lru_cache
from typing import Any
from urllib.parse import quote

import orjson
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.functional import cached_property
from rest_framework.exceptions import NotFound, UnsupportedMediaType
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from petservice.api.errors import MESSAGES

JSON = "application/json"

# A small cache, because few paths have responses with URLs.
_quoted = lru_cache(maxsize=16)(quote)


class JSONRequest(Request):
    """A request with a JSON body or none. REST framework's own class also checks for forms, which takes time."""

    # Attributes of REST framework's class that its type stubs leave out or declare as optional.
    _request: Any
    _authenticate: Any
    parsers: Any

    def __init__(self, request: HttpRequest, **options: Any) -> None:
        super().__init__(request, **options)
        # Otherwise each access goes through __getattr__.
        self.META, self.method = request.META, request.method

    @cached_property
    def data(self) -> Any:
        """The parsed body, or an empty object if there is none."""
        if self.META.get("CONTENT_LENGTH", "0") in ("", "0"):
            return {}
        (parser,) = self.parsers
        if self.content_type.partition(";")[0].strip().lower() != parser.media_type:
            raise UnsupportedMediaType(self.content_type)
        return parser.parse(self._request, self.content_type, self.parser_context)


class APIViewSet(GenericViewSet[Any]):
    """A viewset that returns 404 for an unknown method before it checks the key, as the contract says."""

    # Actions that write only by the inserts of petservice.db.compiled and by Backend.run_blocking, at a path without
    # parameters. On SQLite, all others except GET run on a thread, where they may block.
    insert_actions: frozenset[str] = frozenset()
    # The body of a POST that the browsable API suggests.
    example_body: dict[str, Any] | None = None
    # No Allow header, because it would offer OPTIONS, and no response of the API is a 405.
    default_response_headers: dict[str, str] = {}

    def initialize_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Request:
        if settings.DEBUG:
            return super().initialize_request(request, *args, **kwargs)
        self.action = self.action_map.get((request.method or "").lower(), "")
        return JSONRequest(
            request,
            parsers=self.get_parsers(),
            authenticators=self.get_authenticators(),
            negotiator=self.get_content_negotiator(),
            parser_context=self.get_parser_context(request),
        )

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:
        # Only the browsable API gets here. A client that accepts neither pages nor JSON gets JSON, as without DEBUG.
        return super().perform_content_negotiation(request, force=True)

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        response = super().dispatch(request, *args, **kwargs)
        if not settings.DEBUG:
            # The view and REST framework's request refer to themselves. Only the garbage collector would free them, and
            # it would interrupt the requests of other clients.
            self.request.parser_context.clear()
            self.__dict__.clear()
        return response

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        method = (request.method or "").lower()
        # The browsable API uses OPTIONS to find out what a form may hold.
        if method not in self.action_map and not (settings.DEBUG and method == "options"):
            raise NotFound(MESSAGES[404])
        if not isinstance(request, JSONRequest):
            super().initial(request, *args, **kwargs)
            return
        # The API has neither versions nor content negotiation, and errors use the first renderer. The properties `user`
        # and `auth` would authenticate later and more slowly.
        request._authenticate()
        self.check_permissions(request)
        self.check_throttles(request)

    def respond(self, data: Any, status: int = 200, headers: dict[str, str] | None = None) -> HttpResponse:
        """Return a JSON response, or a page of the browsable API if that is enabled."""
        if not isinstance(self.request, JSONRequest):
            return Response(data, status, headers=headers)
        return HttpResponse(orjson.dumps(data), JSON, status, headers=headers)

    def respond_created(self, data: dict[str, Any], headers: dict[str, str]) -> HttpResponse:
        """Return a response 201 with a record that was created, and with its URL, which is below the requested one."""
        return self.respond(data, 201, created_headers(absolute_url(self.request), data["id"]) | headers)


def created_headers(url: str, record_id: str) -> dict[str, str]:
    """Return the headers of the response to a POST at `url` that created a record."""
    return {"Location": f"{url}/{record_id}"}


def absolute_url(request: Request) -> str:
    """Return the requested URL without its query."""
    # TransportMiddleware has already checked the Host header.
    host = request.META.get("HTTP_HOST") or request.get_host()
    plain = request._request  # Django's request, because REST framework's looks up each attribute slowly
    return f"{plain.scheme}://{host}{_quoted(plain.path)}"
