from django.urls import path

from pets.views import PetViewSet

urlpatterns = [
    path("v1/pets", PetViewSet.as_view({"get": "list", "post": "create"}), name="pets"),
    path("v1/pets/<str:petId>", PetViewSet.as_view({"get": "retrieve"}), name="pet"),
]
