from django.db.models import Count
from rest_framework import mixins, viewsets
from rest_framework.decorators import api_view, authentication_classes, permission_classes
from rest_framework.response import Response
from rest_framework.views import APIView

from shop.models import Pet
from shop.pagination import LimitPagination
from shop.serializers import PetSerializer


class PetViewSet(mixins.CreateModelMixin, mixins.RetrieveModelMixin, mixins.ListModelMixin, viewsets.GenericViewSet):
    queryset = Pet.objects.order_by("id")
    serializer_class = PetSerializer
    pagination_class = LimitPagination


class InventoryView(APIView):
    def get(self, request):
        counts = dict.fromkeys(Pet.Status.values, 0)
        counts.update(Pet.objects.values_list("status").annotate(number=Count("pk")))
        return Response(counts)


@api_view(["GET"])
@authentication_classes([])
@permission_classes([])
def health(request):
    return Response({"status": "ok"})
