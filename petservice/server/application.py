"""The application: the fast path answers the usual requests, and plain Django all others, on a few threads.

The event loop receives each request completely before it calls Django, so that a slow client occupies no thread.
"""

import asyncio
import logging
import random
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

from petservice.wsgi import application as wsgi_application

# The import above sets up Django for the following imports.
# isort: split
from django.http import HttpResponse

from petservice.admin_pages.staff_page import failure_page
from petservice.api.errors import error_response
from petservice.api.health import CHECK_TIMEOUT, WATCH_INTERVAL, readiness, renew, unavailable
from petservice.api.parsers import MAX_BODY_BYTES
from petservice.backoffice.error_views import server_error
from petservice.handler import Handler
from petservice.middleware import PagePolicyMiddleware, error_response_for, with_standard_headers
from petservice.monitoring.access_log import ACCESS_RECORD, AccessLog, AccessRecord
from petservice.monitoring.logs import request_id
from petservice.paths import ADMIN, LOGIN, READINESS
from petservice.server.admission import BusyError, Logins, Places
from petservice.server.limits import (
    API_THREADS,
    MAX_FORM_BYTES,
    MAX_UPLOAD_BYTES,
    MAX_UPLOADS,
    MAX_UPLOADS_OF_ACCOUNT,
    PAGE_THREADS,
    READINESS_THREADS,
    REJECTION_DELAY,
)
from petservice.server.messages import (
    Receive,
    ReceivedRequest,
    RefusedBodyError,
    Response,
    Send,
    UnreadableTargetError,
    encoded,
    sent_request_id,
    whole,
)
from petservice.server.threads import ThreadPool
from petservice.sign_in.login_limits import counted_address, staff_account, too_many_logins

if TYPE_CHECKING:
    from petservice.fastpath.application import FastPath

logger = logging.getLogger(__name__)

Message = dict[str, Any]


class Application:
    """The application of one worker process."""

    # The worker sets it if requests are logged or counted.
    access_log: AccessLog | None = None
    # The worker sets it unless it is turned off.
    fast_path: "FastPath | None" = None

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        # Separate pools, so that the API never queues behind pages, nor the readiness check behind either.
        self.threads = {
            "api": ThreadPool("api", API_THREADS),
            "pages": ThreadPool("pages", PAGE_THREADS),
            "readiness": ThreadPool("readiness", READINESS_THREADS),
        }
        self._uploads = Places("uploads_in_progress", MAX_UPLOADS, MAX_UPLOADS_OF_ACCOUNT)
        self._logins = Logins()

    def close(self) -> None:
        """Close the database connections of the event loop. No request may follow."""
        if self.fast_path is not None:
            self.fast_path.close()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if self.access_log is None:
            await self._respond(scope, receive, send, None)
            return
        record = scope[ACCESS_RECORD] = self.access_log.begin(scope["method"], scope["headers"])

        async def recorded(response: Response) -> None:
            record.status = response[0]
            await send(response)

        try:
            await self._respond(scope, receive, recorded, record)
        finally:
            self.access_log.end(record)

    async def _respond(self, scope: Message, receive: Receive, send: Send, record: AccessRecord | None) -> None:
        if self.fast_path is not None:
            response, receive = await self.fast_path.respond(scope, receive, record)
            if response is not None:
                await send(response)
                return
        try:
            request = ReceivedRequest(scope)
        except UnreadableTargetError:
            refusal = error_response_for(400, sent_request_id(scope["headers"]))
            if record is not None:
                record.client_is(refusal["X-Request-ID"], (scope["client"] or [""])[0], "")
            await send(whole(refusal))
            return
        request_id.set(request.id)  # until the next request, so that gunicorn's log lines have the id as well
        if record is not None:
            peer, forwarded_for = request.META.get("REMOTE_ADDR"), request.META.get("HTTP_X_FORWARDED_FOR", "")
            record.client_is(request.id, peer, forwarded_for)
        try:
            response = await self._response(request, receive)
        except RefusedBodyError as error:
            response = _refused(request, error)
        except Exception as error:
            response = _failed(request, error)
        finally:
            if record is not None:
                record.handled(request)
        await send(response)
        request.release()

    async def _response(self, request: ReceivedRequest, receive: Receive) -> Response:
        if request.META.get("HTTP_EXPECT", "100-continue").lower() != "100-continue":
            return whole(error_response_for(417, request.id))
        if request.path_info == READINESS:
            await request.receive_body(receive, MAX_FORM_BYTES)
            return await self._readiness_response(request)
        if request.is_for_api:
            await request.receive_body(receive, MAX_BODY_BYTES)
            return await self._on_thread("api", request)
        with ExitStack() as places:
            await request.receive_body(receive, await self._max_body_bytes(request, places))
            if (request.method, request.path_info) == ("POST", LOGIN):
                return await self._login_response(request)
            return await self._on_thread("pages", request)

    async def _readiness_response(self, request: ReceivedRequest) -> Response:
        # Without a timeout, a database that does not respond would keep the client waiting.
        try:
            async with asyncio.timeout(CHECK_TIMEOUT):
                return await self._on_thread("readiness", request)
        except TimeoutError:
            return whole(with_standard_headers(unavailable(), request.id))

    async def _max_body_bytes(self, request: ReceivedRequest, places: ExitStack) -> int:
        """Return how many bytes the body of a request to a page may have, and take a place for an upload."""
        if request.declared_bytes <= MAX_FORM_BYTES and not request.is_chunked:
            return MAX_FORM_BYTES
        account = await self.threads["pages"].call(partial(staff_account, request))
        if account is None:
            if not request.is_chunked:  # no page accepts this from a stranger, so it can refuse immediately
                request.leave_body()
            return MAX_FORM_BYTES
        try:
            places.enter_context(self._uploads.take(account))
        except BusyError:
            raise RefusedBodyError("Other uploads are under way: wait until they have ended.") from None
        return MAX_UPLOAD_BYTES

    async def _login_response(self, request: ReceivedRequest) -> Response:
        try:
            return await self._logins.check(counted_address(request), partial(self._on_thread, "pages", request))
        except BusyError:
            # Different times, so that few end together.
            await asyncio.sleep(random.uniform(1, 2) * REJECTION_DELAY)  # noqa: S311 no secret
            return _without_middleware(request, too_many_logins())

    async def _on_thread(self, name: str, request: ReceivedRequest) -> Response:
        return encoded(*await self.threads[name].call(partial(self._handler.response_and_body, request)))

    def watch_readiness(self) -> bool:
        """Return whether the worker was ready, for the metrics, and start a check if no client has requested one."""
        thread = self.threads["readiness"]
        if readiness.age() >= WATCH_INTERVAL and not thread.is_busy:
            self._check = asyncio.ensure_future(thread.call(renew))
        return readiness.was_ready()


def _failed(request: ReceivedRequest, error: Exception) -> Response:
    """Log an error of the server, and return the error response."""
    logger.error("%s %r failed: %s", request.method, request.path_info, error, exc_info=error)
    return _without_middleware(request, server_error(request))


def _refused(request: ReceivedRequest, error: RefusedBodyError) -> Response:
    title = "The request could not be processed"
    is_page = request.path_info.startswith(ADMIN)
    page = failure_page(400, title, str(error), "Nothing was changed.") if is_page else None
    return _without_middleware(request, page or error_response(400, str(error)))


def _without_middleware(request: ReceivedRequest, response: HttpResponse) -> Response:
    """Add the headers of the middleware, which has not seen the request, and return the response."""
    return whole(with_standard_headers(PagePolicyMiddleware(lambda _: response)(request), request.id))


application = Application(wsgi_application)
