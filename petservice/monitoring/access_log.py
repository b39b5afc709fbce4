"""The access log: what is logged and counted of each request, however it ends."""

import re
import time
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import orjson
from django.conf import settings
from django.http import HttpRequest

from petservice.client_address import client_address
from petservice.monitoring.line_writer import LineWriter
from petservice.monitoring.redaction import without_keys
from petservice.paths import HEALTH, STATIC

if TYPE_CHECKING:
    from petservice.monitoring.metrics import Metrics  # which may be imported only where metrics are wanted

# The name under which the scope of a request holds its record.
ACCESS_RECORD = "petservice.access_record"
# No pattern of a URL was reached: an unknown path, or a request that was refused before.
NO_ROUTE = "no_route"
# What no route could be looked for in.
INVALID_REQUEST = "invalid_request"
# A status for requests that ended without an answer because their client had left; nginx's.
CLIENT_LEFT = 499
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
OTHER = "other"


class AccessRecord:
    """One request, from the end of its headers to the end of its response.

    Nothing here is a client's own text except a request id, of which every character is harmless.
    """

    __slots__ = ("forwarded_for", "key_prefix", "method", "peer", "request_id", "route", "started", "status")

    def __init__(self, method: str) -> None:
        self.started = time.monotonic()
        self.method = method if method in METHODS else OTHER
        self.route = NO_ROUTE
        self.status = 0
        self.request_id = ""
        # Of a key that verified.
        self.key_prefix: str | None = None
        self.peer: str | None = ""
        self.forwarded_for = ""

    def client_is(self, meta: dict[str, Any], request_id: str) -> None:
        """Note the id of the request with this META, and who sent it."""
        self.request_id = request_id
        self.peer = meta.get("REMOTE_ADDR")
        self.forwarded_for = meta.get("HTTP_X_FORWARDED_FOR", "")

    def handled(self, request: HttpRequest) -> None:
        """Note what Django has found out about the request."""
        if request.resolver_match is not None:
            self.route = _shown(request.resolver_match.route)
        elif request.path_info.startswith(STATIC):  # WhiteNoise's, which has no pattern
            self.route = STATIC
        elif request.path_info == HEALTH and self.method in ("GET", "HEAD"):  # the server may answer it without Django
            self.route = HEALTH
        key = getattr(request, "auth", None)
        if key is not None:
            self.key_prefix = key.prefix

    def responded(self, status: int) -> None:
        """Note that the response has begun."""
        self.status = status


class AccessLog:
    """Notes the requests of one worker process, in log lines or in metrics or both."""

    def __init__(self, lines: LineWriter | None, metrics: "Metrics | None") -> None:
        self._lines = lines
        self.metrics = metrics
        self.in_flight = 0

    def begin(self, method: str) -> AccessRecord:
        """Return the record of a request that has arrived."""
        self.in_flight += 1
        return AccessRecord(method)

    def end(self, record: AccessRecord) -> None:
        """Write the record of a request that has its response, or whose client has left."""
        self.in_flight -= 1
        self._write(record)

    def refused(self, status: int, request_id: str, peer: str, started: float) -> None:
        """Write that the server refused what is no request; it began at `started` on the monotonic clock."""
        record = AccessRecord("")
        record.route, record.peer, record.started = INVALID_REQUEST, peer, started
        record.request_id, record.status = request_id, status
        self._write(record)

    def _write(self, record: AccessRecord) -> None:
        seconds = time.monotonic() - record.started
        status = record.status or CLIENT_LEFT
        if self.metrics is not None:
            self.metrics.count(record.route, record.method, status, seconds)
        if self._lines is not None:
            line = {
                "time": datetime.now(UTC),
                "level": "INFO",
                "logger": "petservice.requests",
                "request_id": without_keys(record.request_id),
                "method": record.method,
                "route": record.route,
                "status": status,
                "milliseconds": round(seconds * 1000, 3),
                "key_prefix": record.key_prefix,
                "address": _address(record.peer, record.forwarded_for),
            }
            self._lines.write_line(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))


@lru_cache(maxsize=256)
def _address(peer: str | None, forwarded_for: str) -> str | None:
    address = client_address(peer, forwarded_for, settings.TRUSTED_PROXIES)
    return None if address is None else str(address)


@cache  # as many as there are patterns
def _shown(route: str) -> str:
    """Django's pattern as the documentation writes paths: /v1/pets/{petId}."""
    route = re.sub(r"\(\?P<(\w+)>[^)]*\)\$?", r"{\1}", route)
    return "/" + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", route)
