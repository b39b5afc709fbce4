"""Django's request handler, with a list of middleware for the API.

What only pages need (sessions, forms, signals that look after caches and the like) costs more than all the rest of a
small request. Requests to the API reach the same views by the same URLs, but through settings.API_MIDDLEWARE.
"""

import socket
from collections.abc import Callable
from typing import Any, cast

from django.conf import settings
from django.core import signals
from django.core.handlers.base import BaseHandler
from django.core.handlers.exception import convert_exception_to_response
from django.core.handlers.wsgi import WSGIHandler
from django.db import DEFAULT_DB_ALIAS, connections
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.module_loading import import_string

from petservice.api.parsers import MAX_BODY_BYTES
from petservice.paths import API


class APIHandlerMixin(BaseHandler):
    """Leads requests to the API through its own middleware, except where the browsable API needs that of pages."""

    # Django's, which its types leave out.
    _get_response: Any
    _middleware_chain: Any

    def load_middleware(self, is_async: bool = False) -> None:
        super().load_middleware(is_async)
        chain = convert_exception_to_response(self._get_response)
        for name in reversed(settings.API_MIDDLEWARE):
            chain = convert_exception_to_response(import_string(name)(chain))
        self._api_chain: Any = self._middleware_chain if settings.DEBUG else chain

    def get_response(self, request: HttpRequest) -> HttpResponseBase:
        if request.path_info.startswith(API):
            response: HttpResponseBase = self._api_chain(request)
            return response
        return super().get_response(request)


class ChunkedInput:
    """A server's file with a chunked body, which raises OSError if the chunks are malformed, whatever the server does.

    Django takes an OSError for a mistake of the client, and all else for one of the service.
    """

    def __init__(self, file: Any) -> None:
        self._file = file

    def read(self, size: int = -1, /) -> bytes:
        return self._call(self._file.read, size)

    def readline(self, size: int = -1, /) -> bytes:
        return self._call(self._file.readline, size)

    def _call(self, function: Callable[[int], bytes], size: int) -> bytes:
        try:
            return function(size)
        except OSError:
            raise
        except Exception as error:
            raise OSError("The chunks of the body are malformed.") from error


class Handler(APIHandlerMixin, WSGIHandler):
    """The WSGI application; a server that makes Django's requests itself calls the other methods."""

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> HttpResponseBase:
        # gunicorn takes the address from accept(), which knows it also of a client that has reset its connection.
        connection = environ.get("gunicorn.socket")
        if connection is not None and connection.family == socket.AF_UNIX and not environ["REMOTE_ADDR"]:
            del environ["REMOTE_ADDR"]  # as under `serve`: client_address trusts a unix socket, but no empty address
        if (
            "HTTP_TRANSFER_ENCODING" in environ
            and environ.get("wsgi.input_terminated")
            and environ["PATH_INFO"].startswith(API)
        ):
            # Django reads no more than the length says. A chunked body has none, and the server tells where it ends.
            environ["CONTENT_LENGTH"] = str(MAX_BODY_BYTES + 1)
            environ["wsgi.input"] = ChunkedInput(environ["wsgi.input"])
        return super().__call__(environ, start_response)

    def api_response(self, request: HttpRequest) -> HttpResponse:
        """Return the response to a request of the API, without the signals that Django sends around a request."""
        response = self.get_response(request)
        connections[DEFAULT_DB_ALIAS].close_if_unusable_or_obsolete()
        return cast(HttpResponse, response)  # the API streams nothing

    def page_response(self, request: HttpRequest) -> tuple[HttpResponseBase, bytes]:
        """Return the response to any request and its whole body, so that a client who reads slowly needs no thread."""
        signals.request_started.send(sender=type(self))
        response = self.get_response(request)
        try:
            return response, response.getvalue()
        finally:
            response.close()
