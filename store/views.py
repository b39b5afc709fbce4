"""The API's operation on the inventory."""

from django.http import HttpResponse
from rest_framework.request import Request

from petservice.api.viewsets import APIViewSet
from store import schema
from store.models import InventoryItem
from store.serializers import InventorySerializer
from store.services import inventory_counts


@schema.inventory
class InventoryViewSet(APIViewSet):
    """The operation that returns the number of pets with each status."""

    queryset = InventoryItem.objects.all()  # for the permissions that staff need
    serializer_class = InventorySerializer

    def retrieve(self, request: Request) -> HttpResponse:
        return self.respond(inventory_counts())
