"""The health check and the readiness check for load balancers."""

import logging
import mmap
from math import inf
from threading import Lock
from time import monotonic
from typing import NamedTuple

from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from petservice.api.errors import error_response, safe_methods_only
from petservice.api.schema import STANDARD_HEADERS, example, failures
from petservice.api.viewsets import APIViewSet
from petservice.db.backend import time_limit
from petservice.db.pending_migrations import missing_migrations, pending_migrations_message
from petservice.db.postgresql.base import PoolerError

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
        parameters=STANDARD_HEADERS,
        responses={
            200: OpenApiResponse(HealthSerializer, description="The service runs."),
            **failures(400, 500),
        },
        examples=[example({"status": "ok"}, 200)],
    )
)
class HealthViewSet(APIViewSet):
    """The health check, the only view of the API that needs no key."""

    authentication_classes = ()
    permission_classes = ()
    throttle_classes = ()

    def retrieve(self, request: Request) -> Response:
        return Response({"status": "ok"})


# Whether the service is about to stop, in memory that the worker processes share with the process that forks them.
_stopping = mmap.mmap(-1, 1)


def announce_stop() -> None:
    """Make `/ready` return 503 in all worker processes from now on."""
    _stopping[0] = 1


def is_stopping() -> bool:
    """Return whether the service is about to stop."""
    return _stopping[0] == 1


# Seconds between two checks of the database, because a check is slow and strangers may request `/ready` at any rate.
_INTERVAL = 1.0
# Seconds between two checks for the metrics, if no client requests `/ready`.
WATCH_INTERVAL = 5.0
# Seconds after which a check that has not ended counts as failed in the metrics.
_WATCH_AGE = 3 * WATCH_INTERVAL
# Seconds that a check waits for the response to a statement.
CHECK_TIMEOUT = 5.0
_STOPPING = "The service is about to stop."
_NO_ANSWER = "The database does not answer."


class Readiness:
    """The cached result of this process's readiness check."""

    def __init__(self) -> None:
        self._checking = Lock()
        self._obstacle = ""
        self._checked_at = -inf

    def age(self) -> float:
        """Return how many seconds old the last check is."""
        return monotonic() - self._checked_at

    def was_ready(self) -> bool:
        """Return whether the last check found no obstacle, and is not so old that the next one must have failed."""
        return not (is_stopping() or self._obstacle or self.age() >= _WATCH_AGE)

    def obstacle(self) -> str:
        """Return why the database cannot be used, or an empty string. Checks it at most once per _INTERVAL.

        Logs a change: why the database cannot be used, or that it can be used again.
        """
        if is_stopping():
            return _STOPPING
        with self._checking:  # requests during a check wait for its result
            if self.age() >= _INTERVAL:
                before, self._obstacle = self._obstacle, self._check()
                self._checked_at = monotonic()
                if self._obstacle and self._obstacle != before:
                    logger.error("Not ready: %s", self._obstacle)
                elif before and not self._obstacle:
                    logger.info("Ready again.")
            return self._obstacle

    def _check(self) -> str:
        limited = time_limit.set(CHECK_TIMEOUT)
        try:
            missing = missing_migrations()
        except PoolerError as error:
            return str(error)
        except DatabaseError:
            return _NO_ANSWER
        finally:
            time_limit.reset(limited)
        return pending_migrations_message(missing) if missing else ""


readiness = Readiness()


class DatabaseState(NamedTuple):
    """What the metrics show of the database: its size in bytes, and on PostgreSQL the connections of its server."""

    bytes: int = 0
    connections: int = 0
    used_connections: int = 0
    allowed_connections: int = 0


# The last state that was measured, and when, on the monotonic clock.
database = DatabaseState()
_measured_at = -inf
# Seconds between two measurements, because PostgreSQL looks at every file of the database.
_STATE_INTERVAL = 60.0
_STATES = {
    "postgresql": """
        SELECT pg_database_size(current_database()), count(*), count(*) FILTER (WHERE state <> 'idle'
            AND datname = current_database() AND application_name = current_setting('application_name')
            AND pid <> pg_backend_pid()),
            current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
        FROM pg_stat_activity WHERE backend_type = 'client backend'
    """,
    "sqlite": "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
}


def unavailable() -> HttpResponse:
    """Return the response of `/ready` while its check gets no response from the database."""
    return error_response(503, _NO_ANSWER)


@safe_methods_only
def ready(request: HttpRequest) -> HttpResponse:
    """Return 200 if the database responds and has all migrations, or else 503."""
    if obstacle := readiness.obstacle():
        return error_response(503, obstacle)
    return HttpResponse(b'{"status":"ok"}', content_type="application/json")


def renew() -> None:
    """Check the database if a check is due, for the metrics, and measure it at most once in _STATE_INTERVAL."""
    global database, _measured_at
    try:
        if not readiness.obstacle() and monotonic() - _measured_at >= _STATE_INTERVAL:
            with connection.cursor() as cursor:
                database = DatabaseState(*cursor.execute(_STATES[connection.vendor]).fetchone())
            _measured_at = monotonic()
    except DatabaseError as error:  # it has ended since the check, and the next check will say so
        logger.warning("The size and the connections of the database are not known: %s", error)
    finally:
        connection.close_if_unusable_or_obsolete()
