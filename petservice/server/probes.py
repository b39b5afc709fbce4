"""The responses to the probes of load balancers: the health check and the readiness check."""

import asyncio

from petservice.health import WATCH_INTERVAL, probe_response, readiness, renew, unavailable
from petservice.middleware import with_standard_headers
from petservice.server.admission import Turns
from petservice.server.messages import Request, Response, whole
from petservice.server.threads import ThreadPool
from petservice.sign_in.logins import counted_address


class Probes:
    """The probes of one worker process, which are answered from memory if possible."""

    def __init__(self, thread: ThreadPool, timeout: float) -> None:
        self._thread = thread
        self._timeout = timeout
        # Separate queues, so that no probe waits for the other one.
        self._health_turns, self._readiness_turns = Turns(), Turns()
        # The response of the health check is always the same, except for the request id.
        status, headers, body = whole(with_standard_headers(probe_response(""), ""))
        self._health = status, [header for header in headers if header[0] != b"X-Request-ID"], body

    async def health(self, request: Request) -> Response:
        """Return the response of the health check."""
        async with self._health_turns.take(counted_address(request)):
            status, headers, body = self._health
            return status, [*headers, (b"X-Request-ID", request.id.encode())], body

    async def readiness(self, request: Request) -> Response:
        """Return the response of the readiness check."""
        # Without a timeout, a database that does not respond would keep the client waiting.
        try:
            async with (
                asyncio.timeout(self._timeout),
                self._readiness_turns.take(counted_address(request)),
            ):
                response = probe_response(await self._obstacle())
        except TimeoutError:
            response = unavailable()
        return whole(with_standard_headers(response, request.id))

    async def _obstacle(self) -> str:
        known = readiness.known_obstacle()
        if known is None:
            return await self._thread.call(renew)
        if readiness.is_due():
            self._start_check()  # in the background, so that requests need not wait for it
        return known

    def watch(self) -> bool:
        """Return whether the worker was ready, for the metrics, and start the next check if no client requests one."""
        if readiness.age() >= WATCH_INTERVAL:
            self._start_check()
        return readiness.was_ready()

    def _start_check(self) -> None:
        if not self._thread.is_busy:
            self._check = asyncio.ensure_future(self._thread.call(renew))
