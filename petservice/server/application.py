"""The application: the fast path answers the usual requests, and plain Django all others, on a few threads.

The event loop receives each request completely before it calls Django, so that a slow client occupies no thread.
Threads, logins and uploads are limited, so that many of one kind of request delay no other kind.
"""

import asyncio
import logging
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from contextvars import copy_context
from functools import partial
from math import inf
from threading import get_ident
from typing import Any, TypeVar

from django.core import signals
from django.core.exceptions import BadRequest
from django.db import DatabaseError, connection
from django.http import HttpResponse

from petservice.admin_pages.staff_page import failure_page
from petservice.api.errors import error_response
from petservice.api.parsers import MAX_BODY_BYTES
from petservice.api.readiness import CHECK_TIMEOUT, NO_ANSWER, WATCH_INTERVAL, readiness
from petservice.backoffice.error_views import server_error
from petservice.client_address import address_of
from petservice.middleware import PageMiddleware, with_standard_headers
from petservice.monitoring.access_log import current_record
from petservice.monitoring.counters import count
from petservice.monitoring.database_calls import DATABASE_STATE
from petservice.monitoring.logs import request_id
from petservice.paths import ADMIN, API, HEALTH, LOGIN, READINESS
from petservice.server import limits
from petservice.server.messages import Receive, ReceivedRequest, Response, Scope, encoded
from petservice.sign_in.kept_forms import last_account
from petservice.sign_in.login_limits import counted_address, too_many_logins
from petservice.wsgi import Handler
from store.services import inventory_drift

logger = logging.getLogger(__name__)

# Seconds between two counts of all pets, each of which reads an index of all pets.
COUNT_INTERVAL = 3600.0

T = TypeVar("T")


class Slots:
    """A limited number of slots, of which each client may have some."""

    def __init__(self, name: str, number: int, of_a_client: int) -> None:
        """Create so many slots. `name` is the reason of refusals in the metrics."""
        self._name = name
        self._number = number
        self._of_a_client = of_a_client
        self._taken: Counter[object] = Counter()

    @contextmanager
    def take(self, client: object) -> Iterator[bool]:
        """Return a context in which a client has a slot, and whether it may have one."""
        if self._taken[client] >= self._of_a_client or self._taken.total() >= self._number:
            count("refusals", self._name)
            yield False
            return
        self._taken[client] += 1
        try:
            yield True
        finally:
            self._taken[client] -= 1
            self._taken += Counter()  # drops clients without a slot


class ThreadPool:
    """A ThreadPoolExecutor that reports how busy it is."""

    def __init__(self, name: str, size: int) -> None:
        self._name = name
        self.size = size
        self._executor = ThreadPoolExecutor(size, thread_name_prefix=name)
        # The start time of each call that runs, by its thread.
        self._started: dict[int, float] = {}

    async def call(self, function: Callable[[], T]) -> T:
        """Run a function on a thread, and return its result or raise its error.

        If the caller is cancelled, a function that has not begun never does, and one that has begun runs to its end.
        """
        run = partial(copy_context().run, self._run, function, time.monotonic())
        return await asyncio.get_running_loop().run_in_executor(self._executor, run)

    def _run(self, function: Callable[[], T], submitted: float) -> T:
        now = self._started[get_ident()] = time.monotonic()
        waited = now - submitted
        count("queued", self._name)
        count("queue_seconds", self._name, waited)
        if (record := current_record.get()) is not None:
            record.queue_seconds += waited
        try:
            return function()
        finally:
            del self._started[get_ident()]

    @property
    def in_use(self) -> int:
        """The number of threads that run a call."""
        return len(self._started)

    def stalled_for(self) -> float:
        """Return for how many seconds the oldest running call has been running, or 0."""
        return max((time.monotonic() - started for started in list(self._started.values())), default=0.0)


class Application:
    """The application of one worker process."""

    # What DATABASE_STATE returned last, and by how many pets the counters of the inventory were wrong; and when the one
    # and the other was checked.
    database_state, inventory_drift = (0, 0, 0, 0), 0
    _watched_at = _counted_at = -inf

    def __init__(self, handler: Handler, fast_path: Any) -> None:
        """Create the application of Django's handler and of the fast path, which is None if it is turned off."""
        self._handler = handler
        self._fast_path = fast_path
        self.pools = {name: ThreadPool(name, size) for name, size in limits.THREADS.items()}
        self._uploads = Slots("uploads_in_progress", limits.MAX_UPLOADS, limits.MAX_UPLOADS_OF_ACCOUNT)
        self._logins = Slots("logins_in_progress", limits.MAX_LOGINS, limits.MAX_LOGINS_OF_ADDRESS)
        self._password_checks = asyncio.Semaphore(limits.CONCURRENT_LOGINS)

    async def respond(self, scope: Scope, receive: Receive) -> Response:
        """Return the response of the fast path if it has one, or else that of Django, or an error response."""
        if self._fast_path is not None:
            usual: Response | None = await self._fast_path.respond(scope, receive)
            if usual is not None:
                return usual
        request = ReceivedRequest(scope)
        request_id.set(request.id)  # for all log lines of this task, also gunicorn's
        scope.address = address_of(request)
        try:
            response = await self._response(request, receive)
        except BadRequest as error:
            is_page = request.path_info.startswith(ADMIN)
            title = "The request could not be processed"
            page = failure_page(400, title, str(error), "Nothing was changed.") if is_page else None
            response = _without_middleware(request, page or error_response(400, str(error)))
        except Exception as error:
            logger.exception("%s %r failed: %s", request.method, request.path_info, error)
            response = _without_middleware(request, server_error(request))
        finally:
            scope.handled(request)
        request.close()
        return response

    async def _response(self, request: ReceivedRequest, receive: Receive) -> Response:
        if request.path_info == READINESS:
            try:
                # Without a timeout, a database that does not respond would keep the client waiting.
                async with asyncio.timeout(CHECK_TIMEOUT):
                    return await self._on_thread("readiness", request)
            except TimeoutError:
                return _without_middleware(request, error_response(503, NO_ANSWER))
        if request.path_info.startswith(API):
            await request.receive_body(receive, MAX_BODY_BYTES)  # the parser refuses a larger one
            # All threads of the API may wait for the database, and those of asyncio for the disk, to write uploads.
            return await self._on_thread("health" if request.path_info == HEALTH else "api", request)
        is_form = request.declared_bytes <= limits.MAX_FORM_BYTES and "HTTP_TRANSFER_ENCODING" not in request.META
        # A cookie shows that the browser was logged in. Strangers have none, and no page takes a large body from them.
        account = None if is_form else last_account(request)
        max_bytes = limits.MAX_FORM_BYTES if account is None else limits.MAX_UPLOAD_BYTES
        with nullcontext(True) if account is None else self._uploads.take(account) as is_admitted:
            if not is_admitted:
                raise BadRequest("Other uploads are under way: wait until they have ended.")
            if not await request.receive_body(receive, max_bytes):
                count("refusals", "large_body")
                raise BadRequest(f"The body is too large: send at most {max_bytes} bytes.")
            if (request.method, request.path_info) == ("POST", LOGIN):
                return await self._login_response(request)
            return await self._on_thread("pages", request)

    async def _login_response(self, request: ReceivedRequest) -> Response:
        """Return the response to a login. Unless it redirects, the next login has to wait for a pause."""
        with self._logins.take(counted_address(request)) as is_admitted:
            if not is_admitted:
                # Different times, so that few end together.
                await asyncio.sleep(random.uniform(1, 2) * limits.REJECTION_DELAY)  # noqa: S311 no secret
                return _without_middleware(request, too_many_logins())
            await self._password_checks.acquire()
            pause: float = limits.FAILED_LOGIN_PAUSE
            try:
                response = await self._on_thread("pages", request)
                if response[0] == 302:
                    pause = 0
            finally:
                asyncio.get_running_loop().call_later(pause, self._password_checks.release)
            return response

    async def _on_thread(self, name: str, request: ReceivedRequest) -> Response:
        return await self.pools[name].call(partial(self._response_of_django, request))

    def _response_of_django(self, request: ReceivedRequest) -> Response:
        """Return the complete response, so that a slow client occupies no thread."""
        signals.request_started.send(sender=type(self._handler))
        response = self._handler.get_response(request)
        try:
            return encoded(response)
        finally:
            response.close()

    def watch_database(self) -> bool:
        """Return whether the worker was ready, for the metrics, and start what is due of the checks of the database."""
        now, pool = time.monotonic(), self.pools["readiness"]
        if now - self._watched_at >= WATCH_INTERVAL and not pool.in_use:
            self._watched_at = now
            self._check = asyncio.ensure_future(pool.call(self._measure))
        if readiness.was_ready() and now - self._counted_at >= COUNT_INTERVAL:
            self._counted_at = now
            # Not on the thread of the readiness check, because the count of ten million pets takes seconds.
            self._count = asyncio.ensure_future(self.pools["pages"].call(self._count_pets))
        return readiness.was_ready()

    def _measure(self) -> None:
        try:
            if not readiness.obstacle():
                with connection.cursor() as cursor:
                    self.database_state = cursor.execute(DATABASE_STATE[connection.vendor]).fetchone()
        except DatabaseError as error:  # it has ended since the check, and the next check will say so
            logger.warning("The size and the connections of the database are not known: %s", error)
        finally:
            connection.close_if_unusable_or_obsolete()

    def _count_pets(self) -> None:
        try:
            self.inventory_drift = sum(map(abs, inventory_drift().values()))
        except DatabaseError as error:
            logger.warning("The counters of the inventory cannot be checked: %s", error)
        finally:
            connection.close_if_unusable_or_obsolete()


def _without_middleware(request: ReceivedRequest, response: HttpResponse) -> Response:
    """Add the headers of the middleware, which has not seen the request, and return the response."""
    return encoded(with_standard_headers(PageMiddleware(lambda _: response)(request), request.id))
