"""The access log: one log line and one metrics sample for each request, including malformed and abandoned ones."""

import os
import re
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, suppress
from contextvars import ContextVar
from datetime import UTC, datetime
from functools import cache
from typing import Any

import orjson
from django.http import HttpRequest

from petservice.monitoring import telemetry
from petservice.monitoring.logs import trace_id
from petservice.monitoring.redaction import without_keys
from petservice.paths import PROBES, STATIC

# The route of input that is not valid HTTP.
INVALID_REQUEST = "invalid_request"
# The status of a request whose client disconnected before the response, as in nginx.
CLIENT_LEFT = 499
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
OTHER = "other"


class AccessRecord:
    """What is recorded of one request, from the end of its headers to the end of its response.

    The only field that a client writes is the request id, which has a safe set of characters. What no request has yet
    is an attribute of the class, because setting each one at the beginning would cost time.
    """

    method = OTHER
    # When the application began with the request, on the monotonic clock, or 0 if it has not.
    started = 0.0
    # Until it matches a URL pattern, which requests do not that have an unknown path or are refused earlier.
    route = "no_route"
    # The status of the response, once that has begun.
    status = 0
    request_id = ""
    # The prefix of the API key, if the key was valid.
    key_prefix: str | None = None
    address: str | None = None
    # The operation of the fast path that has answered the request, if one has.
    fast_path_operation: str | None = None
    # Where the time went: into calls of the database, and into waiting for a thread.
    database_seconds = 0.0
    queue_seconds = 0.0
    # The span of the request, if spans are sent.
    span: AbstractContextManager[Any] | None = None

    def handled(self, request: HttpRequest) -> None:
        """Record the route and the API key that Django found."""
        if request.resolver_match is not None:
            self.route = shown_route(request.resolver_match.route)
        elif request.path_info.startswith(STATIC):  # WhiteNoise serves these without a URL pattern
            self.route = STATIC
        elif request.path_info in PROBES and request.method in ("GET", "HEAD"):  # refused before Django found the view
            self.route = request.path_info
        key = getattr(request, "auth", None)
        if key is not None:
            self.key_prefix = key.prefix


# The record of the request that the current task or thread works for, if a line of it will be logged.
current_record: ContextVar[AccessRecord | None] = ContextVar("current_record", default=None)


class AccessLog:
    """A recorder of one worker's requests, in log lines or in metrics or in both."""

    def __init__(self, descriptor: int | None, count: Callable[[AccessRecord, float], None] | None) -> None:
        """Create a recorder that writes lines to this file descriptor and calls `count` for metrics, if given."""
        self._descriptor = descriptor
        self._count = count

    def begin_trace(self, record: AccessRecord, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """Begin the trace of a request that has arrived, and its span."""
        if self._descriptor is not None:  # only lines have the trace, and where the time went
            trace_id.set(telemetry.trace_id_of(dict(headers).get(b"traceparent", b"").decode("latin-1")))
            current_record.set(record)
        if telemetry.tracer is not None:
            texts = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers}
            record.span = telemetry.request_span(texts)
            record.span.__enter__()

    def end(self, record: AccessRecord) -> None:
        """Write the record of a request that has ended, or whose client has disconnected, and end its span."""
        seconds = time.monotonic() - record.started
        record.status = record.status or CLIENT_LEFT
        if self._count is not None:
            self._count(record, seconds)
        if self._descriptor is not None:
            self._write_line(record, seconds, self._descriptor)
        if record.span is not None:
            telemetry.describe_request(shown_method(record.method), record.route, record.status)
            record.span.__exit__(None, None, None)

    def _write_line(self, record: AccessRecord, seconds: float, descriptor: int) -> None:
        line = {
            "time": datetime.now(UTC),
            "level": "INFO",
            "logger": "petservice.requests",
            "process": os.getpid(),
            "request_id": without_keys(record.request_id),
            **({"trace_id": trace_id.get()} if trace_id.get() else {}),
            "method": shown_method(record.method),
            "route": record.route,
            "status": record.status,
            "milliseconds": round(seconds * 1000, 3),
            "database_milliseconds": round(record.database_seconds * 1000, 3),
            "queue_milliseconds": round(record.queue_seconds * 1000, 3),
            "key_prefix": record.key_prefix,
            "address": record.address,
        }
        # Not through a logger, which costs ten times as much.
        with suppress(OSError):  # the reader has closed the pipe
            os.write(descriptor, orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))


def shown_method(method: str) -> str:
    """Return a method that a client has sent, or OTHER for one that HTTP does not define, of which there are many."""
    return method if method in METHODS else OTHER


@cache  # one entry per URL pattern
def shown_route(route: str) -> str:
    """Return Django's URL pattern in OpenAPI's notation, for example /v1/pets/{petId}."""
    route = re.sub(r"\(\?P<(\w+)>[^)]*\)\$?", r"{\1}", route)
    return "/" + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", route)
