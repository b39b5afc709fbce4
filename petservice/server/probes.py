"""The responses to the probes of load balancers: the health check and the readiness check."""

import asyncio
from functools import partial

from petservice.api.responses import request_id_of, with_standard_headers
from petservice.handler import Handler
from petservice.health import known_response, readiness, renew, unavailable
from petservice.paths import HEALTH, READINESS
from petservice.server.admission import Turns
from petservice.server.public_responses import Key, PublicResponses
from petservice.server.requests import Request
from petservice.server.responses import Response, encoded, whole
from petservice.server.threads import ThreadPool
from petservice.sign_in.logins import counted_address


class Probes:
    """The probes of one worker process, which are answered from memory if possible."""

    def __init__(self, handler: Handler, public: PublicResponses, thread: ThreadPool, timeout: float) -> None:
        self._handler = handler
        self._public = public
        self._thread = thread
        self._timeout = timeout
        # Separate queues, so that no probe waits for the other one.
        self._health_turns, self._readiness_turns = Turns(), Turns()
        # The response of the health check is always the same, except for the request id.
        self._health = {scheme: _health_response(handler, scheme) for scheme in ("http", "https")}

    async def health(self, request: Request) -> Response:
        """Return the response of the health check."""
        async with self._health_turns.take(counted_address(request)):
            status, headers, body = self._health[request.scheme or "http"]
            return status, [*headers, (b"X-Request-ID", request_id_of(request.META).encode())], body

    async def readiness(self, request: Request) -> Response:
        """Return the response of the readiness check."""
        # Without a timeout, a database that does not respond would keep the client waiting.
        try:
            async with (
                asyncio.timeout(self._timeout),
                self._readiness_turns.take(counted_address(request)),
            ):
                return await self._current_readiness(request)
        except TimeoutError:
            return whole(with_standard_headers(unavailable(), request_id_of(request.META)))

    async def _current_readiness(self, request: Request) -> Response:
        known = known_response() if request.method in ("GET", "HEAD") else None
        if known is not None and readiness.is_due() and not self._thread.is_busy:
            # Start the next check in the background, so that requests need not wait for it.
            self._renewal = asyncio.ensure_future(self._thread.call(renew))
        response = None if known is None else self._public.get(_readiness_key(request, known.content), request)
        if response is None:
            response = encoded(*await self._thread.call(partial(self._handler.page_response, request)))
            # The key is that of the new body, because the state may have changed since the lookup above.
            self._public.keep(_readiness_key(request, response[2]), request, response)
        return response


def _readiness_key(request: Request, body: bytes) -> Key:
    return READINESS, body.decode(), request.scheme or "", ""


def _health_response(handler: Handler, scheme: str) -> Response:
    """Return the response of the health check, without a request id."""
    scope = {
        **{"method": "GET", "scheme": scheme, "raw_path": HEALTH.encode(), "query_string": b"", "root_path": ""},
        **{"server": None, "client": None, "headers": []},
    }
    status, headers, body = whole(handler.api_response(Request(scope)))
    return status, [(name, value) for name, value in headers if name != b"X-Request-ID"], body
