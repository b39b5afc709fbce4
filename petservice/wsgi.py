"""The WSGI application, for `serve` and for any other WSGI server.

It reads what servers and clients send that Django reads in another way or not at all.
"""

import os
import socket
from collections.abc import Callable
from typing import Any

import django
from django.conf import settings
from django.core.checks import run_checks
from django.core.exceptions import ImproperlyConfigured
from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
from django.http import HttpRequest, parse_cookie
from django.http.multipartparser import MultiPartParserError
from django.http.request import HttpHeaders
from django.http.response import HttpResponseBase
from django.utils.functional import cached_property
from django.utils.http import parse_header_parameters

from petservice.client_address import forwarded_scheme, parse_address
from petservice.monitoring import telemetry
from petservice.monitoring.access_log import AccessRecord, shown_method
from petservice.paths import API

# Maximum length in characters of the cookies that are read. A browser sends one header, and gunicorn refuses headers
# above 8,190 bytes. A proxy for HTTP/2 may send several.
_MAX_COOKIES = 32 * 1024
# Maximum length in characters of a Content-Type whose parameters are read. The boundary of a form has at most 70.
# Python takes quadratic time for them, which is 0.1 s for 8,190 characters with a quote.
_MAX_CONTENT_TYPE = 256
# The Content-Length of a chunked body, because Django reads only as much as it says. The server marks the real end.
_UNKNOWN_LENGTH = str(2**31)


class TolerantRequest(HttpRequest):
    """A request of Django, which reads in another way what some clients send."""

    def _set_content_type_params(self, meta: dict[str, Any]) -> None:
        # Unlike in Django's method, the charset decodes nothing: all that clients send is UTF-8.
        header = meta.get("CONTENT_TYPE", "")
        if len(header) > _MAX_CONTENT_TYPE:  # also for all that read it later
            header = meta["CONTENT_TYPE"] = header.partition(";")[0]
        try:
            self.content_type, self.content_params = parse_header_parameters(header)
        except (TypeError, ValueError):  # at some encoded parameters (RFC 2231), as all that read them later would
            self.content_type = meta["CONTENT_TYPE"] = header.partition(";")[0].strip().lower()
            self.content_params = {}

    def parse_file_upload(self, *args: Any, **options: Any) -> Any:
        try:
            return super().parse_file_upload(*args, **options)
        except (TypeError, ValueError) as error:  # the same in the headers of a form with files
            raise MultiPartParserError("The headers of the form are malformed.") from error

    @cached_property
    def COOKIES(self) -> dict[str, str]:  # type: ignore[override]  # noqa: N802  # as in Django's classes
        # Long cookies and escapes are not read, because a stranger can send many of both. No cookie of the service has
        # a backslash. Python before 3.11.10 and 3.12.6 takes quadratic time to remove them (CVE-2024-7592), which is
        # seconds for one request.
        return parse_cookie(self.META.get("HTTP_COOKIE", "")[:_MAX_COOKIES].replace("\\", ""))


class Request(TolerantRequest, WSGIRequest):
    """A request under any WSGI server."""


class Handler(WSGIHandler):
    """Django's handler, which trusts the proxies that the service trusts, and reads chunked bodies of the API."""

    request_class = Request

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> HttpResponseBase:
        # gunicorn gets the address from accept(), so it is also known if the client has reset its connection.
        connection = environ.get("gunicorn.socket")
        if connection is not None and connection.family == socket.AF_UNIX and not parse_address(environ["REMOTE_ADDR"]):
            del environ["REMOTE_ADDR"]  # as under `serve`: a unix socket is trusted, but no unknown address
        scheme = forwarded_scheme(environ, settings.TRUSTED_PROXIES)
        environ["wsgi.url_scheme"] = scheme or environ["wsgi.url_scheme"]
        if (
            "HTTP_TRANSFER_ENCODING" in environ
            and environ.get("wsgi.input_terminated")
            and environ["PATH_INFO"].startswith(API)
        ):
            environ["CONTENT_LENGTH"] = _UNKNOWN_LENGTH
        telemetry.start()  # at the first request, because the server may have forked this process after the import
        with telemetry.request_span(HttpHeaders(environ)):
            return super().__call__(environ, start_response)

    def get_response(self, request: HttpRequest) -> HttpResponseBase:
        """Return the response, within a span of its own. `serve` calls this method alone."""
        with telemetry.span("django"):
            response = super().get_response(request)
        if telemetry.tracer is not None:  # for the span above, or for that of `serve`
            record = AccessRecord()
            record.handled(request)
            telemetry.describe_request(shown_method(request.method or ""), record.route, response.status_code)
        return response


os.environ.setdefault("DJANGO_SETTINGS_MODULE", "petservice.settings")
django.setup(set_prefix=False)

# `serve` has checked the configuration already. Another server must not start with an invalid one either.
if _errors := run_checks(tags=["petservice"]):  # pragma: no cover  # tested in a process without measurement
    raise ImproperlyConfigured(" ".join(str(error.msg) for error in _errors))

application = Handler()
