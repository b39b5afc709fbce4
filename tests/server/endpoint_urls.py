"""The URL patterns of the service, and a view that uses Django alone and no function of the service."""

from django.http import HttpResponse
from django.urls import path
from rest_framework.request import Request

from pets.models import Pet
from pets.views import PetViewSet
from petservice.urls import *  # noqa: F403
from petservice.urls import urlpatterns as service_urls


class PlainPetViewSet(PetViewSet):
    def destroy(self, request: Request, petId: str) -> HttpResponse:  # noqa: N803
        Pet.objects.filter(pk=petId).delete()
        return HttpResponse(status=204)


plain = PlainPetViewSet.as_view({"get": "retrieve", "delete": "destroy"})
urlpatterns = [path("v1/pets/<str:petId>", plain), *service_urls]
