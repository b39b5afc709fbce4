"""For load balancers: does the process run, and can it work?"""

import logging
import mmap
from math import inf
from threading import Lock
from time import monotonic

from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.request import Request

from petservice.api.errors import error_response, safe_methods_only
from petservice.api.schema import example, failures, standard_headers
from petservice.api.viewsets import APIViewSet
from petservice.db.pending_migrations import missing_migrations, pending_migrations_message

logger = logging.getLogger(__name__)


class HealthSerializer(serializers.Serializer[dict[str, str]]):
    """The response of a running service."""

    status = serializers.ChoiceField(choices=["ok"])


@extend_schema_view(
    retrieve=extend_schema(
        operation_id="healthCheck",
        summary="Health check",
        description="Reports that the service is running and reachable. Needs no key and does not use the database.",
        tags=[],
        auth=[{}],
        parameters=standard_headers(200, 400, 500),
        responses={
            200: OpenApiResponse(HealthSerializer, description="The service runs."),
            **failures(400, 500),
        },
        examples=[example({"status": "ok"}, 200)],
    )
)
class HealthViewSet(APIViewSet):
    """Open to all: the one view without a key."""

    authentication_classes = ()
    permission_classes = ()
    throttle_classes = ()

    def retrieve(self, request: Request) -> HttpResponse:
        return self.respond({"status": "ok"})


# Whether the service is about to stop. Worker processes share it, since they begin as copies of the process that loads
# this.
_stopping = mmap.mmap(-1, 1)


def announce_stop() -> None:
    """Have `/ready` answer 503 from now on, in all worker processes that this process has started."""
    _stopping[0] = 1


def is_stopping() -> bool:
    """Return whether the service is about to stop."""
    return _stopping[0] == 1


# Seconds between two looks at the database: each takes longer than all else about `/ready`, which anybody may ask for.
_INTERVAL = 1.0
# Seconds for which the result of a look is answered while the next look is under way.
_MAX_AGE = 2.0
_STOPPING = "The service is about to stop."
_NO_ANSWER = "The database does not answer."


class Readiness:
    """What this process knows of its database's readiness."""

    def __init__(self) -> None:
        self._looking = Lock()
        self._obstacle = ""
        self._looked_at = -inf
        self._logged = ""

    def known_obstacle(self) -> str | None:
        """Return the obstacle as the last look found it, None if that was more than _MAX_AGE ago."""
        return self._obstacle if monotonic() - self._looked_at < _MAX_AGE else None

    def is_due(self) -> bool:
        """Return whether the last look was at least _INTERVAL ago."""
        return monotonic() - self._looked_at >= _INTERVAL

    def obstacle(self) -> str:
        """Return why the database cannot be used, or an empty string; looks at most once in _INTERVAL."""
        with self._looking:  # requests that come during a look wait for its result
            if self.is_due():
                self._obstacle = _obstacle()
                self._looked_at = monotonic()
                self.log_change(self._obstacle)
            return self._obstacle

    def log_change(self, obstacle: str) -> None:
        """Log why the database cannot be used, or that it can be again, unless that was the last thing logged."""
        if obstacle != self._logged:
            self._logged = obstacle
            if obstacle:
                logger.error("Not ready: %s", obstacle)
            else:
                logger.info("Ready again.")


readiness = Readiness()


def _obstacle() -> str:
    try:
        missing = missing_migrations()
    except DatabaseError:
        return _NO_ANSWER
    return pending_migrations_message(missing) if missing else ""


def unavailable() -> HttpResponse:
    """What `/ready` answers while the database does not answer it."""
    readiness.log_change(_NO_ANSWER)  # the look has not ended, and may never
    return error_response(503, _NO_ANSWER)


@safe_methods_only
def ready(request: HttpRequest) -> HttpResponse:
    """200 when the database answers and has every migration and the service is to go on, else 503."""
    # A stop is announced immediately, so it is asked for each time.
    return _response(_STOPPING if is_stopping() else readiness.obstacle())


def renew() -> None:
    """Look at the database if a look is due."""
    try:
        readiness.obstacle()
    finally:
        connection.close_if_unusable_or_obsolete()


def known_response() -> HttpResponse | None:
    """Return the response of `/ready` without its headers, None if the database must be asked first."""
    obstacle = _STOPPING if is_stopping() else readiness.known_obstacle()
    return None if obstacle is None else _response(obstacle)


def _response(obstacle: str) -> HttpResponse:
    if obstacle:
        return error_response(503, obstacle)
    return HttpResponse(b'{"status":"ok"}', content_type="application/json")
