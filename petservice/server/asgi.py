"""The ASGI application, which decides where each request runs.

The event loop receives each request completely before it calls Django, so that a slow client delays no other. API
requests run in greenlets on the event loop's thread. Pages and other slow requests run on threads.
"""

import asyncio
import logging
import random
from contextlib import AbstractAsyncContextManager, ExitStack, nullcontext
from functools import partial
from typing import Any

from petservice.wsgi import application as wsgi_application

# The import above sets up Django for the following imports.
# isort: split
from django.conf import settings
from django.db import DatabaseError
from django.http import HttpResponse
from django.urls import get_resolver

from petservice.admin_pages.failure_page import failure_page
from petservice.api.errors import error_response
from petservice.api.parsers import MAX_BODY_BYTES
from petservice.backoffice.error_views import server_error
from petservice.db.backend import backend
from petservice.fastpath.application import FastPath
from petservice.handler import Handler
from petservice.middleware import PagePolicyMiddleware, error_response_for, with_standard_headers
from petservice.monitoring.access_log import ACCESS_RECORD, AccessLog, AccessRecord
from petservice.monitoring.logs import request_id
from petservice.paths import ADMIN, HEALTH, LOGIN, PROBES, READINESS
from petservice.server.admission import BusyError, KnownClients, Logins, Places, Turns
from petservice.server.anonymous_pages import AnonymousPages
from petservice.server.greenlets import GreenletPool
from petservice.server.limits import (
    CONCURRENT_READS,
    MAX_FORM_BYTES,
    MAX_UPLOAD_BYTES,
    MAX_UPLOADS,
    MAX_UPLOADS_OF_ACCOUNT,
    PAGE_THREADS,
    READINESS_THREADS,
    REJECTION_DELAY,
    WRITE_THREADS,
)
from petservice.server.messages import (
    CutBodyError,
    Receive,
    RefusedBodyError,
    Request,
    Response,
    Send,
    UnreadableTargetError,
    encoded,
    send_response,
    sent_request_id,
    whole,
)
from petservice.server.priority import CLIENT_KIND, KNOWN, STRANGER
from petservice.server.probes import Probes
from petservice.server.public_responses import REJECTED_LOGIN, Key, PublicResponses
from petservice.server.threads import ThreadPool
from petservice.sign_in.logins import counted_address, has_session, reject_login, staff_account

logger = logging.getLogger(__name__)

Message = dict[str, Any]


class Application:
    """The application of one worker process."""

    # The worker sets it if requests are logged or counted.
    access_log: AccessLog | None = None
    # The worker sets it unless it is turned off.
    fast_path: FastPath | None = None

    def __init__(self, handler: Handler) -> None:
        database = backend()
        self._handler = handler
        self._call_timeout = database.call_timeout
        self._statements_block = database.statements_block
        self._inserts = _insert_requests()
        # Separate pools, so that reads never queue behind writes.
        self.greenlets = {
            "reads": GreenletPool(CONCURRENT_READS, database.call_timeout),
            "writes": GreenletPool(database.concurrent_writes, database.call_timeout),
        }
        # Separate pools, so that pages never queue behind writes, nor the readiness check behind pages.
        self.threads = {
            "pages": ThreadPool("pages", PAGE_THREADS),
            "writes": ThreadPool("writes", WRITE_THREADS),
            "readiness": ThreadPool("readiness", READINESS_THREADS),
        }
        self._uploads = Places(MAX_UPLOADS, MAX_UPLOADS_OF_ACCOUNT)
        self._logins = Logins()
        self._known = KnownClients()
        # Separate queues, so that no kind of request waits for slow requests of another kind.
        self._turns = {name: Turns() for name in ("reads", "writes", "pages", "public", "pieces")}
        self._public = PublicResponses(handler)
        self._anonymous = AnonymousPages(self._public)
        self.probes = Probes(self.threads["readiness"], database.call_timeout)

    def close(self) -> None:
        """Close the database connections of the event loop. No request may follow."""
        if self.fast_path is not None:
            self.fast_path.close()
        for pool in self.greenlets.values():
            pool.close()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if self.access_log is None:
            await self._respond(scope, receive, send, None)
            return
        record = scope[ACCESS_RECORD] = self.access_log.begin(scope["method"])
        try:
            await self._respond(scope, receive, send, record)
        finally:
            self.access_log.end(record)

    async def _respond(self, scope: Message, receive: Receive, send: Send, record: AccessRecord | None) -> None:
        if self.fast_path is not None:
            response, receive = await self.fast_path.respond(scope, receive, record)
            if response is not None:
                scope[CLIENT_KIND] = STRANGER if response[0] == 401 else KNOWN
                await send_response(send, scope["method"], response, record)
                return
        try:
            request = Request(scope)
        except UnreadableTargetError:
            refusal = error_response_for(400, sent_request_id(scope["headers"]))
            if record is not None:
                record.client_is(refusal["X-Request-ID"], (scope["client"] or [""])[0], "")
            await send_response(send, scope["method"], whole(refusal), record)
            return
        request_id.set(request.id)  # until the next request, so that gunicorn's log lines have the id as well
        if record is not None:
            peer, forwarded_for = request.META.get("REMOTE_ADDR"), request.META.get("HTTP_X_FORWARDED_FOR", "")
            record.client_is(request.id, peer, forwarded_for)
        try:
            response = await self._response(request, receive)
        except RefusedBodyError as error:
            response = self._refused(request, error)
            if isinstance(error, CutBodyError):
                record = None  # the client has left, or the connection has recorded its own refusal
        except Exception as error:
            response = self._failed(request, error)
        finally:
            if record is not None:
                record.handled(request)
        scope[CLIENT_KIND] = self._client_kind(request)
        try:
            turn = partial(self._turn, "pieces", request)
            await send_response(send, request.method, response, record, turn)
        except Exception as error:
            # gunicorn refuses invalid headers before it sends anything, and would respond in HTML.
            await send_response(send, request.method, self._failed(request, error), record)
        if not request.is_for_api:
            request.release()

    async def _response(self, request: Request, receive: Receive) -> Response:
        path, is_read = request.path_info, request.method in ("GET", "HEAD")
        if request.META.get("HTTP_EXPECT", "100-continue").lower() != "100-continue":
            return whole(error_response_for(417, request.id))
        if not request.is_for_api and not (path == READINESS and is_read):
            return await self._page_response(request, receive)
        await request.receive_body(receive, MAX_BODY_BYTES)
        if path == READINESS:
            return await self.probes.readiness(request)
        if path == HEALTH and is_read and not settings.DEBUG:  # DEBUG has a browsable API
            return await self.probes.health(request)
        return await self._api_response(request)

    def _client_kind(self, request: Request) -> str:
        if request.path_info in PROBES:
            return request.path_info
        return KNOWN if request.credential in self._known else STRANGER

    def _turn(self, kind: str, request: Request) -> AbstractAsyncContextManager[None]:
        """Return a context for handling a request, in which strangers take turns and known clients do not wait."""
        if request.credential in self._known:
            return nullcontext()
        timeout = self._call_timeout if kind in self.greenlets else None
        return self._turns[kind].take(counted_address(request), timeout)

    async def _api_response(self, request: Request) -> Response:
        kind = "reads" if request.method in ("GET", "HEAD") else "writes"
        try:
            if request.credential in self._known:
                response = await self._call_of_api(kind, request)
            else:
                async with self._turn(kind, request):
                    response = await self._call_of_api(kind, request)
        except TimeoutError as error:
            return self._failed(request, error)
        if getattr(request, "auth", None) is None:
            if response[0] in (401, 403):
                self._known.forget(request.credential)
        elif request.credential not in self._known:
            self._known.note(request.credential)
        return response

    async def _call_of_api(self, kind: str, request: Request) -> Response:
        only_inserts = (request.method, request.path_info) in self._inserts
        if settings.DEBUG or (self._statements_block and kind == "writes" and not only_inserts):
            return await self._on_thread("pages" if kind == "reads" else kind, request)
        return whole(await self.greenlets[kind].call(partial(self._handler.api_response, request)))

    async def _page_response(self, request: Request, receive: Receive) -> Response:
        key = self._public.key_of(request)
        if key is not None:
            return await self._public_response(key, request)
        if not self._anonymous.may_have(request) or await self._has_session(request):
            return await self._private_response(request, receive)
        async with self._turn("public", request):
            response = self._anonymous.get(request)
        if response is None:
            response = await self._on_page_thread(request)
            self._anonymous.keep(request, response)
        return response

    async def _public_response(self, key: Key, request: Request) -> Response:
        # Cached responses are complete. A server may ignore the Range header (RFC 9110, section 14.2).
        request.META.pop("HTTP_RANGE", None)
        async with self._turn("public", request):
            response = self._public.get(key, request)
        if response is None:
            response = await self._on_page_thread(request)
            self._public.keep(key, request, response)
        return response

    async def _has_session(self, request: Request) -> bool:
        """Return whether a session with the request's session key exists, or may exist."""
        if request.credential is None:
            return False
        if request.credential in self._known:
            return True
        try:
            async with self._turn("reads", request):
                return await self.greenlets["reads"].call(partial(has_session, request))
        except (DatabaseError, TimeoutError):  # the page says so
            return True

    async def _private_response(self, request: Request, receive: Receive) -> Response:
        with ExitStack() as places:
            max_bytes = MAX_FORM_BYTES
            if request.declared_bytes > MAX_FORM_BYTES or request.is_chunked:
                async with self._turn("pages", request):
                    account = await self.threads["pages"].call(partial(staff_account, request))
                if account is not None:
                    try:
                        places.enter_context(self._uploads.take(account))
                    except BusyError:
                        raise RefusedBodyError("Other uploads are under way: wait until they have ended.") from None
                    max_bytes = MAX_UPLOAD_BYTES
                elif not request.is_chunked:  # no page accepts this from a stranger, so it can refuse immediately
                    request.leave_body()
            await request.receive_body(receive, max_bytes)
            if (request.method, request.path_info) == ("POST", LOGIN):
                return await self._login_response(request)
            return await self._on_page_thread(request)

    async def _login_response(self, request: Request) -> Response:
        try:
            return await self._logins.check(counted_address(request), partial(self._on_thread, "pages", request))
        except BusyError:
            # Different times, so that few end together.
            await asyncio.sleep(random.uniform(1, 2) * REJECTION_DELAY)  # noqa: S311 no secret
            reject_login(request)
            key = REJECTED_LOGIN, "", request.scheme or "", request.META.get("HTTP_HOST", "")
            return await self._public_response(key, request)

    async def _on_page_thread(self, request: Request) -> Response:
        async with self._turn("pages", request):
            response = await self._on_thread("pages", request)
        user = getattr(request, "_cached_user", None)  # only set if the page has used request.user
        if user is not None and user.is_active and user.is_staff:
            self._known.note(request.credential)
        elif user is not None:
            self._known.forget(request.credential)
        return response

    async def _on_thread(self, name: str, request: Request) -> Response:
        return encoded(*await self.threads[name].call(partial(self._handler.page_response, request)))

    def _failed(self, request: Request, error: Exception) -> Response:
        """Log an error of the server, and return the error response."""
        # A timeout has no traceback, because it comes from the pool and not from the code of the request.
        traceback = None if isinstance(error, TimeoutError) else error
        logger.error("%s %r failed: %s", request.method, request.path_info, error, exc_info=traceback)
        return _without_middleware(request, server_error(request))

    def _refused(self, request: Request, error: RefusedBodyError) -> Response:
        is_page = request.path_info.startswith(ADMIN) and not isinstance(error, CutBodyError)
        title = "The request could not be processed"
        page = failure_page(400, title, str(error), "Nothing was changed.") if is_page else None
        return _without_middleware(request, page or error_response(400, str(error)))


def _without_middleware(request: Request, response: HttpResponse) -> Response:
    """Add the headers of the middleware, which has not seen the request, and return the response."""
    return whole(with_standard_headers(PagePolicyMiddleware(lambda _: response)(request), request.id))


def _insert_requests() -> set[tuple[str, str]]:
    """Return the method and path of each request that writes by inserts only, as its viewset declares."""
    # Only views of viewsets have the attributes `actions` and `cls`.
    views = {pattern.pattern: getattr(pattern, "callback", None) for pattern in get_resolver().url_patterns}
    return {
        (method.upper(), f"/{address}")
        for address, view in views.items()
        for method, action in getattr(view, "actions", {}).items()
        if action in view.cls.insert_actions  # type: ignore[union-attr]
    }


application = Application(wsgi_application)
