"""Requests seen from outside: what is logged and counted of each, however it ends."""

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

if TYPE_CHECKING:
    from petservice.monitoring.metrics import Metrics  # which may be imported only where metrics are wanted

# The name of a request's observation in its scope and its environ. Without one nobody observes.
OBSERVATION = "petservice.monitoring.access_log"
# No pattern of a URL was reached: an unknown path, or a request that was refused before.
UNKNOWN = "unknown"
# What no route could be looked for in.
MALFORMED = "malformed"
# A status for requests that ended without an answer because their client had left; nginx's.
CLIENT_LEFT = 499
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
OTHER = "other"

_STATIC = "/static/"


class Observation:
    """One request, from the end of its headers to the end of its answer.

    Nothing here is a client's own text, save for a request id, of which every character is harmless.
    """

    __slots__ = ("began", "forwarded_for", "key_prefix", "method", "peer", "request_id", "route", "status")

    def __init__(self, method: str) -> None:
        self.began = time.monotonic()
        self.method = method if method in METHODS else OTHER
        self.route = UNKNOWN
        self.status = 0
        self.request_id = ""
        # Of a key that verified.
        self.key_prefix: str | None = None
        self.peer = ""
        self.forwarded_for = ""

    def came_from(self, environ: dict[str, Any]) -> None:
        """Note who sent it."""
        self.peer = environ["REMOTE_ADDR"]
        self.forwarded_for = environ.get("HTTP_X_FORWARDED_FOR", "")

    def was_handled(self, request: HttpRequest) -> None:
        """Note what Django has found out about `request`."""
        if request.resolver_match is not None:
            self.route = _shown(request.resolver_match.route)
        elif request.path_info.startswith(_STATIC):  # WhiteNoise's, which has no pattern
            self.route = _STATIC
        key = getattr(request, "auth", None)
        if key is not None:
            self.key_prefix = key.prefix

    def was_answered(self, status: int, headers: Any) -> None:
        """Note the answer; `headers` are pairs of bytes."""
        self.status = status
        for name, value in headers:
            if name == b"X-Request-ID":
                self.request_id = value.decode("ascii")


class Observer:
    """Notes the requests of one worker process, as log lines or in metrics or both."""

    def __init__(self, lines: LineWriter | None, metrics: "Metrics | None") -> None:
        self._lines = lines
        self.metrics = metrics
        self.in_flight = 0

    def begin(self, method: str) -> Observation:
        """A request has arrived."""
        self.in_flight += 1
        return Observation(method)

    def end(self, observation: Observation) -> None:
        """It has its answer, or its client has left."""
        self.in_flight -= 1
        self._note(observation)

    def refused(self, status: int, request_id: str, peer: str, began: float) -> None:
        """One was refused by the server, as it cannot be read; it began at `began` on the monotonic clock."""
        observation = Observation("")
        observation.route, observation.status, observation.request_id = MALFORMED, status, request_id
        observation.peer, observation.began = peer, began
        self._note(observation)

    def _note(self, observation: Observation) -> None:
        seconds = time.monotonic() - observation.began
        status = observation.status or CLIENT_LEFT
        if self.metrics is not None:
            self.metrics.count(observation.route, observation.method, status, seconds)
        if self._lines is not None:
            line = {
                "time": datetime.now(UTC),
                "level": "INFO",
                "logger": "petservice.requests",
                "request_id": without_keys(observation.request_id),
                "method": observation.method,
                "route": observation.route,
                "status": status,
                "milliseconds": round(seconds * 1000, 3),
                "key_prefix": observation.key_prefix,
                "address": _address(observation.peer, observation.forwarded_for),
            }
            self._lines.write_line(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))


@lru_cache(maxsize=256)
def _address(peer: str, forwarded_for: str) -> str | None:
    address = client_address(peer, forwarded_for, settings.TRUSTED_PROXIES)
    return None if address is None else str(address)


@cache  # as many as there are patterns
def _shown(route: str) -> str:
    """Django's pattern as the documentation writes paths: /v1/pets/{petId}."""
    route = re.sub(r"\(\?P<(\w+)>[^)]*\)\$?", r"{\1}", route)
    return "/" + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", route)
