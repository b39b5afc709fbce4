from rest_framework.request import Request
from rest_framework.response import Response

from petservice.api.viewsets import APIViewSet
from store import schema
from store.serializers import InventorySerializer
from store.services import inventory_counts


@schema.inventory
class InventoryViewSet(APIViewSet):
    """The store's inventory counts."""

    serializer_class = InventorySerializer

    def retrieve(self, request: Request) -> Response:
        return Response(InventorySerializer(inventory_counts()).data)
