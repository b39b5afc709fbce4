"""How the OpenAPI document describes the store's operation."""

from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_view

from petservice.api.schema import STANDARD_HEADERS, example, failures
from store.serializers import InventorySerializer

inventory = extend_schema_view(
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
