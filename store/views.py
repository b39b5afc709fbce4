"""The API's operation on the inventory."""

from django.http import HttpResponse
from rest_framework.request import Request

from petservice.api.viewsets import APIViewSet
from store import schema
from store.models import InventoryItem
from store.serializers import InventorySerializer
from store.services import inventory_counts

_shown = InventorySerializer().to_representation


@schema.inventory
class InventoryViewSet(APIViewSet):
    """The store's inventory counts."""

    queryset = InventoryItem.objects.all()  # whose rights staff need
    serializer_class = InventorySerializer

    def retrieve(self, request: Request) -> HttpResponse:
        return self.respond(_shown(inventory_counts()))
