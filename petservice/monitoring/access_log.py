"""The access log: one log line and one metrics sample for each request, including malformed and abandoned ones."""

import os
import re
import time
from collections.abc import Iterable
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING

import orjson
from django.http import HttpRequest

from petservice.monitoring.logs import trace_id
from petservice.monitoring.redaction import without_keys
from petservice.monitoring.telemetry import describe_request, trace_id_of
from petservice.paths import PROBES, STATIC

if TYPE_CHECKING:
    from petservice.monitoring.metrics import Metrics  # to be imported only where metrics are configured

# The key of a request's access record in what the server knows of it.
ACCESS_RECORD = "petservice.access_record"
# The route of a request that matched no URL pattern: an unknown path, or a request that was refused earlier.
NO_ROUTE = "no_route"
# The route of input that is not valid HTTP.
INVALID_REQUEST = "invalid_request"
# The status of a request whose client disconnected before the response, as in nginx.
CLIENT_LEFT = 499
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
OTHER = "other"


@dataclass(slots=True)
class AccessRecord:
    """A record of one request, from the end of its headers to the end of its response.

    The only field that a client writes is the request id, which has a safe set of characters.
    """

    method: str
    started: float = field(default_factory=time.monotonic)
    route: str = NO_ROUTE
    # The status of the response, once that has begun.
    status: int = 0
    request_id: str = ""
    # The prefix of the API key, if the key was valid.
    key_prefix: str | None = None
    address: str | None = None
    # Where the time went: into calls of the database, and into waiting for a thread.
    database_seconds: float = 0.0
    queue_seconds: float = 0.0
    # The trace of which the client says that the request is a part.
    trace_id: str | None = None

    def __post_init__(self) -> None:
        self.method = self.method if self.method in METHODS else OTHER

    def handled(self, request: HttpRequest) -> None:
        """Record the route and the API key that Django found."""
        if request.resolver_match is not None:
            self.route = shown_route(request.resolver_match.route)
        elif request.path_info.startswith(STATIC):  # WhiteNoise serves these without a URL pattern
            self.route = STATIC
        elif request.path_info in PROBES and self.method in ("GET", "HEAD"):  # the server answers them without Django
            self.route = request.path_info
        key = getattr(request, "auth", None)
        if key is not None:
            self.key_prefix = key.prefix


# The record of the request that the current task or thread works for, if it is recorded.
current_record: ContextVar[AccessRecord | None] = ContextVar("current_record", default=None)


class AccessLog:
    """A recorder of one worker's requests, in log lines or in metrics or in both."""

    def __init__(self, descriptor: int | None, metrics: "Metrics | None") -> None:
        """Create a recorder that writes lines to this file descriptor, if there is one."""
        self._descriptor = descriptor
        self._process = os.getpid()
        self.metrics = metrics
        self.in_flight = 0

    def begin(self, method: str, headers: Iterable[tuple[bytes, bytes]]) -> AccessRecord:
        """Return the record of a request that has arrived, which becomes the current record."""
        self.in_flight += 1
        record = AccessRecord(method)
        if self._descriptor is not None:  # the only use of the trace
            for name, value in headers:
                if name == b"traceparent":
                    record.trace_id = trace_id_of(value.decode("latin-1"))
            trace_id.set(record.trace_id)
        current_record.set(record)
        return record

    def end(self, record: AccessRecord) -> None:
        """Write the record of a request that has ended, or whose client has disconnected."""
        self.in_flight -= 1
        self._write(record)
        describe_request(record.method, record.route, record.status or CLIENT_LEFT)

    def refused(self, status: int, request_id: str, address: str | None, started: float) -> None:
        """Write a record of invalid input that the server refused; `started` is on the monotonic clock."""
        self._write(AccessRecord("", started, INVALID_REQUEST, status, request_id, address=address))

    def _write(self, record: AccessRecord) -> None:
        seconds = time.monotonic() - record.started
        status = record.status or CLIENT_LEFT
        if self.metrics is not None:
            self.metrics.count(record.route, record.method, status, seconds, record.key_prefix)
        if self._descriptor is not None:
            line = {
                "time": datetime.now(UTC),
                "level": "INFO",
                "logger": "petservice.requests",
                "process": self._process,
                "request_id": without_keys(record.request_id),
                **({"trace_id": record.trace_id} if record.trace_id else {}),
                "method": record.method,
                "route": record.route,
                "status": status,
                "milliseconds": round(seconds * 1000, 3),
                "database_milliseconds": round(record.database_seconds * 1000, 3),
                "queue_milliseconds": round(record.queue_seconds * 1000, 3),
                "key_prefix": record.key_prefix,
                "address": record.address,
            }
            # Not through a logger, which costs ten times as much.
            with suppress(OSError):  # the reader has closed the pipe
                os.write(self._descriptor, orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))


@cache  # one entry per URL pattern
def shown_route(route: str) -> str:
    """Return Django's URL pattern in OpenAPI's notation, for example /v1/pets/{petId}."""
    route = re.sub(r"\(\?P<(\w+)>[^)]*\)\$?", r"{\1}", route)
    return "/" + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", route)
