"""The admin's responses to clients without a session, from memory: the login page, and redirects to it.

Without this module, each such response is made on a thread, which takes ten times the CPU. The thread competes with the
event loop for the processor, so all other clients wait longer.
"""

import re

from django.contrib.auth.views import redirect_to_login
from django.contrib.messages.storage.cookie import CookieStorage
from django.core.exceptions import DisallowedHost
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import CsrfViewMiddleware, get_token
from django.urls import Resolver404, get_resolver

from petservice.paths import ADMIN, LOGIN
from petservice.server.messages import Request, Response, whole
from petservice.server.public_responses import LOGIN_REDIRECT, Key, PublicResponses, is_plain
from petservice.sign_in.login_view import is_continued

# The form token in the login page, and the text of the same length that replaces it in the cache.
_TOKEN = re.compile(rb'(?<=name="csrfmiddlewaretoken" value=")\w{64}(?=")')
_NO_TOKEN = b"-" * 64
# Headers that are added to each response from the cache.
_OWN_HEADERS = (b"Location", b"Set-Cookie", b"Vary", b"X-Request-ID")


class AnonymousPages:
    """A cache of the responses that only differ by the requested path and by the form token."""

    def __init__(self, public: PublicResponses) -> None:
        self._public = public

    def may_have(self, request: Request) -> bool:
        """Return whether the cache can have the response to a request, if its client has no session."""
        # A message, such as the one after a password was set, is shown on the login page.
        return request.path_info.startswith(ADMIN) and is_plain(request) and not len(CookieStorage(request))

    def get(self, request: Request) -> Response | None:
        """Return the response to a client without a session, or None if the cache does not have it."""
        kept = self._public.get(_key_of(request), request)
        if kept is None:
            return None
        status, headers, body = kept
        if status == 302:
            return status, [*headers, (b"Location", _login_url(request)), (b"Vary", b"Cookie")], body
        own_headers, token = _form_token(request)
        return status, headers + own_headers, body.replace(_NO_TOKEN, token)

    def keep(self, request: Request, response: Response) -> None:
        """Add a response to the cache if it is the login page or a redirect to it."""
        status, headers, body = response
        if status == 302 and (b"Location", _login_url(request)) not in headers:
            return
        headers = [(name, value) for name, value in headers if name not in _OWN_HEADERS]
        self._public.keep(_key_of(request), request, (status, headers, _TOKEN.sub(_NO_TOKEN, body)))


def _key_of(request: Request) -> Key:
    place = request.scheme or "", request.META.get("HTTP_HOST", "")
    try:
        if request.path_info != LOGIN:
            return LOGIN_REDIRECT, get_resolver().resolve(request.path_info).route, *place
        return LOGIN, "continued" if is_continued(request) else "", *place
    except (DisallowedHost, Resolver404):  # the response is an error, which is not kept
        return LOGIN_REDIRECT, "", *place


def _login_url(request: HttpRequest) -> bytes:
    return redirect_to_login(request.get_full_path(), LOGIN).url.encode()


def _form_token(request: Request) -> tuple[list[tuple[bytes, bytes]], bytes]:
    """Return a new token for a form of this client, and the headers that set its cookie."""
    middleware = CsrfViewMiddleware(lambda _: HttpResponse())
    middleware.process_request(request)
    token = get_token(request).encode()
    middleware.process_response(request, response := HttpResponse())
    _, headers, _ = whole(response)
    return [header for header in headers if header[0] in (b"Set-Cookie", b"Vary")], token
