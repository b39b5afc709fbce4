"""The health check and the readiness check for load balancers."""

import logging

from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from petservice.api.errors import error_response, safe_methods_only
from petservice.api.readiness import readiness
from petservice.api.schema import STANDARD_HEADERS, example, failures
from petservice.api.viewsets import APIViewSet

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


# What was measured last of the database: its size in bytes, and on PostgreSQL the connections of its server, which are
# open, used by this service, and allowed.
database = (0, 0, 0, 0)
# PostgreSQL hides the type of the processes of other roles, but only those of clients have a database and a role.
STATES = {
    "postgresql": """
        SELECT pg_database_size(current_database()), count(*), count(*) FILTER (WHERE state <> 'idle'
            AND datname = current_database() AND application_name = current_setting('application_name')
            AND pid <> pg_backend_pid()),
            current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
        FROM pg_stat_activity WHERE coalesce(backend_type, 'client backend') = 'client backend'
            AND datid IS NOT NULL AND usesysid IS NOT NULL
    """,
    "sqlite": "SELECT page_count * page_size, 0, 0, 0 FROM pragma_page_count, pragma_page_size",
}


@safe_methods_only
def ready(request: HttpRequest) -> HttpResponse:
    """Return 200 if the database responds and has all migrations, or else 503."""
    if obstacle := readiness.obstacle():
        return error_response(503, obstacle)
    return HttpResponse(b'{"status":"ok"}', content_type="application/json")


def renew() -> None:
    """Check the database if a check is due, and measure it, for the metrics."""
    global database
    try:
        if not readiness.obstacle():
            with connection.cursor() as cursor:
                database = cursor.execute(STATES[connection.vendor]).fetchone()
    except DatabaseError as error:  # it has ended since the check, and the next check will say so
        logger.warning("The size and the connections of the database are not known: %s", error)
    finally:
        connection.close_if_unusable_or_obsolete()
