"""The API's operation on the inventory, and how the OpenAPI document describes it."""

from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from petservice.api.schema import STANDARD_HEADERS, example, failures
from petservice.api.viewsets import APIViewSet
from store.services import inventory_counts


class InventorySerializer(serializers.Serializer[dict[str, int]]):
    """The number of pets of each status; always all three."""

    available = serializers.IntegerField(min_value=0, help_text="Pets that can be bought.")
    pending = serializers.IntegerField(min_value=0, help_text="Pets whose sale is under way.")
    sold = serializers.IntegerField(min_value=0, help_text="Pets that have been sold.")


@extend_schema_view(
    retrieve=extend_schema(
        operation_id="getInventory",
        summary="Get inventory",
        description="Returns how many pets are available, pending and sold: always all three, exact and current.",
        tags=["Store"],
        parameters=STANDARD_HEADERS,
        responses={
            200: OpenApiResponse(InventorySerializer, description="The counts."),
            **failures(400, 401, 403, 429, 500),
        },
        examples=[example({"available": 2, "pending": 0, "sold": 1}, 200)],
    )
)
class InventoryViewSet(APIViewSet):
    """The operation that returns the number of pets with each status."""

    def retrieve(self, request: Request) -> Response:
        return Response(inventory_counts())
