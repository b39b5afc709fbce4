"""Django's request handler, with a short way for the API.

What only pages need (sessions, forms, signals that look after caches and the like) costs more than all the rest of a
small request. The API goes through the same views by the same URLs, but through its own, shorter list of middleware.
"""

from typing import Any, cast

from django.conf import settings
from django.core.handlers.base import BaseHandler
from django.core.handlers.exception import convert_exception_to_response
from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
from django.db import DEFAULT_DB_ALIAS, connections
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.module_loading import import_string
from rest_framework.response import Response

from petservice.apikeys import usage
from petservice.monitoring.access_log import OBSERVATION

API = "/v1/"


class ShortWay(BaseHandler):
    """Leads requests to the API through settings.API_MIDDLEWARE; and as usual where the browsable API is to be had."""

    # Django's, which its types leave out.
    _get_response: Any
    _middleware_chain: Any

    def load_middleware(self, is_async: bool = False) -> None:
        super().load_middleware(is_async)
        chain = convert_exception_to_response(self._view_answer)
        for name in reversed(settings.API_MIDDLEWARE):
            chain = convert_exception_to_response(import_string(name)(chain))
        self._api_chain: Any = self._middleware_chain if settings.DEBUG else chain

    def _view_answer(self, request: HttpRequest) -> HttpResponseBase:
        """What Django's `_get_response` does that the API has: no middleware between URL and view, no transaction
        around a view, no asynchronous view, no template; each of these is looked for at every request.
        """
        view, arguments, named = self.resolve_request(request)
        response: HttpResponseBase = view(request, *arguments, **named)
        return response.render() if isinstance(response, Response) else response

    def get_response(self, request: HttpRequest) -> HttpResponseBase:
        if request.path_info.startswith(API):
            response: HttpResponseBase = self._api_chain(request)
        else:
            response = super().get_response(request)
        if OBSERVATION in request.META:
            request.META[OBSERVATION].was_handled(request)
        return response


class Handler(ShortWay, WSGIHandler):
    """The WSGI application; servers that know more ask it for the API's answers directly."""

    def api_answer(self, environ: dict[str, Any]) -> HttpResponse:
        """The answer to a request of the API, without Django's signals: what they do at its end is done here."""
        response = self.get_response(WSGIRequest(environ))
        usage.record_use()
        connections[DEFAULT_DB_ALIAS].close_if_unusable_or_obsolete()
        return cast(HttpResponse, response)  # the API streams nothing
