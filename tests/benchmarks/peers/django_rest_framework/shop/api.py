"""The operations of the API, as REST framework's tutorial teaches them."""

from django.db.models import Count
from django.urls import include, path
from rest_framework import mixins, serializers, views, viewsets
from rest_framework.decorators import api_view, authentication_classes, permission_classes
from rest_framework.exceptions import ValidationError
from rest_framework.pagination import BasePagination
from rest_framework.response import Response
from rest_framework.routers import SimpleRouter

from shop.models import Pet


class LimitPagination(BasePagination):
    """`?limit=N` and a bare array, without the count of all rows that LimitOffsetPagination makes."""

    def paginate_queryset(self, queryset, request, view=None):
        limit = request.query_params.get("limit", "100")
        if not limit.isdecimal():
            raise ValidationError({"limit": "limit must be a whole number from 0."})
        return list(queryset[: min(int(limit), 1000)])

    def get_paginated_response(self, data):
        return Response(data)


class PetSerializer(serializers.ModelSerializer):
    class Meta:
        model = Pet
        fields = ["id", "name", "tag"]

    def to_representation(self, instance):
        data = super().to_representation(instance)
        if data["tag"] is None:
            del data["tag"]
        return data


class PetViewSet(mixins.CreateModelMixin, mixins.RetrieveModelMixin, mixins.ListModelMixin, viewsets.GenericViewSet):
    queryset = Pet.objects.order_by("id")
    serializer_class = PetSerializer
    pagination_class = LimitPagination


class InventoryView(views.APIView):
    def get(self, request):
        counts = dict.fromkeys(Pet.Status.values, 0)
        counts.update(Pet.objects.values_list("status").annotate(number=Count("pk")))
        return Response(counts)


@api_view(["GET"])
@authentication_classes([])
@permission_classes([])
def health(request):
    return Response({"status": "ok"})


router = SimpleRouter(trailing_slash=False)
router.register("pets", PetViewSet, basename="pet")
urlpatterns = [
    path("v1/", include(router.urls)),
    path("v1/store/inventory", InventoryView.as_view()),
    path("v1/health", health),
]
