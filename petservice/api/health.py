"""The health check and the readiness check for load balancers."""

from django.http import HttpRequest, HttpResponse
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from petservice.api.errors import error_response, safe_methods_only
from petservice.api.readiness import readiness
from petservice.api.schema import STANDARD_HEADERS, example, failures
from petservice.api.viewsets import APIViewSet


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


@safe_methods_only
def ready(request: HttpRequest) -> HttpResponse:
    """Return 200 if the database responds and has all migrations, or else 503."""
    if obstacle := readiness.obstacle():
        return error_response(503, obstacle)
    return HttpResponse(b'{"status":"ok"}', content_type="application/json")
