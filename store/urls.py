from django.urls import path

from store.views import InventoryViewSet

urlpatterns = [path("v1/store/inventory", InventoryViewSet.as_view({"get": "retrieve"}), name="inventory")]
