import os
from collections.abc import Callable, Iterable
from typing import Any

from django.core.checks import run_checks
from django.core.exceptions import ImproperlyConfigured
from django.core.wsgi import get_wsgi_application
from gunicorn.http.errors import ParseException

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "petservice.settings")

_django = get_wsgi_application()

# `serve` has checked this already; a server started in another way must not run on a bad configuration either.
if _errors := run_checks(tags=["petservice"]):
    raise ImproperlyConfigured(" ".join(str(error.msg) for error in _errors))

from petservice.api.parsers import MAX_BODY_BYTES  # noqa: E402  # needs the set-up that the line above does


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """Django, told that a chunked body ends by itself.

    Without a declared length Django reads nothing of it. The server ends the stream where the body ends
    (`wsgi.input_terminated`), so a bound above what the API takes serves as the length.
    """
    chunked = "chunked" in environ.get("HTTP_TRANSFER_ENCODING", "").lower()
    if chunked and environ.get("wsgi.input_terminated") and environ["PATH_INFO"].startswith("/v1/"):
        environ["CONTENT_LENGTH"] = str(MAX_BODY_BYTES + 1)
        environ["wsgi.input"] = _ChunkedInput(environ["wsgi.input"])
    return _django(environ, start_response)


class _ChunkedInput:
    """gunicorn's body, whose malformed chunks are an unreadable input to Django rather than a crash."""

    def __init__(self, body: Any) -> None:
        self._body = body

    def read(self, size: int) -> bytes:
        return self._bytes(self._body.read, size)

    def readline(self, size: int) -> bytes:
        return self._bytes(self._body.readline, size)

    def _bytes(self, read: Callable[[int], bytes], size: int) -> bytes:
        try:
            return read(size)
        except ParseException as error:
            raise OSError(str(error)) from error
