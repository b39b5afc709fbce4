"""The base of the API's viewsets, which answer wrong methods as the contract says."""

from typing import Any

import orjson
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from rest_framework.exceptions import NotFound, UnsupportedMediaType
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import GenericViewSet

from petservice.api.errors import MESSAGES

JSON = "application/json"


class JSONRequest(Request):
    """A request whose body is JSON or nothing; REST framework's own asks in many ways whether it is a form."""

    # REST framework's, whose types leave them out or allow for None.
    _request: Any
    _authenticate: Any
    parsers: Any
    # The parsed body.
    _content: Any

    def __init__(self, request: HttpRequest, **options: Any) -> None:
        super().__init__(request, **options)
        self._content = None
        # Else each look at them goes through __getattr__.
        self.META, self.method = request.META, request.method

    def authenticate(self) -> None:
        """Find out who asks, before `user` or `auth` is asked for: as properties, which swallow AttributeErrors, they
        guard against that, at more cost than what they guard.
        """
        self._authenticate()

    @property
    def data(self) -> Any:
        """The body, parsed; an empty object if there is none."""
        if self._content is None:
            self._content = self._parsed()
        return self._content

    def _parsed(self) -> Any:
        if self.META.get("CONTENT_LENGTH", "0") in ("", "0"):
            return {}
        (parser,) = self.parsers
        if self.content_type.partition(";")[0].strip().lower() != parser.media_type:
            raise UnsupportedMediaType(self.content_type)
        return parser.parse(self._request, self.content_type, self.parser_context)


class APIViewSet(GenericViewSet[Any]):
    """A viewset whose wrong methods are 404, decided before the key is looked at, as the contract has it."""

    # Actions that write by the inserts of petservice.db.compiled and by Backend.run_blocking only. All others but GET
    # run on a thread on SQLite, where they may block.
    insert_actions: frozenset[str] = frozenset()
    # No Allow: it would promise OPTIONS, and no answer of the API is a 405.
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

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        method = (request.method or "").lower()
        # The browsable API asks with OPTIONS what a form may hold.
        if method not in self.action_map and not (settings.DEBUG and method == "options"):
            raise NotFound(MESSAGES[404])
        if not isinstance(request, JSONRequest):
            super().initial(request, *args, **kwargs)
            return
        # No versions, and nothing to negotiate: failures are rendered by the first renderer as well.
        request.authenticate()
        self.check_permissions(request)
        self.check_throttles(request)

    def respond(self, data: Any, status: int = 200, headers: dict[str, str] | None = None) -> HttpResponse:
        """Return `data` in JSON, or in the browsable API where that is switched on."""
        if not isinstance(self.request, JSONRequest):
            return Response(data, status, headers=headers)
        return HttpResponse(orjson.dumps(data), JSON, status, headers=headers)
