from django.urls import include, path
from rest_framework.routers import SimpleRouter

from shop.views import InventoryView, PetViewSet, health

router = SimpleRouter(trailing_slash=False)
router.register("pets", PetViewSet, basename="pet")

urlpatterns = [
    path("v1/", include(router.urls)),
    path("v1/store/inventory", InventoryView.as_view()),
    path("v1/health", health),
]
