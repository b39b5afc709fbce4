"""How the OpenAPI document describes the store's operation."""

from drf_spectacular.utils import OpenApiExample, OpenApiResponse, extend_schema, extend_schema_view

from petservice.api.schema import failures, standard_headers
from store.serializers import InventorySerializer

inventory = extend_schema_view(
    retrieve=extend_schema(
        operation_id="getInventory",
        summary="Get inventory",
        description="How many pets are available, pending and sold.",
        tags=["Store"],
        parameters=standard_headers(200, 401, 403, 500),
        responses={200: OpenApiResponse(InventorySerializer, description="The counts."), **failures(401, 403, 500)},
        examples=[
            OpenApiExample(
                "Counts", value={"available": 12, "pending": 3, "sold": 7}, response_only=True, status_codes=["200"]
            )
        ],
    )
)
