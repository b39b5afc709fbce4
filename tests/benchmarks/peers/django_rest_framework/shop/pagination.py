from rest_framework.exceptions import ValidationError
from rest_framework.pagination import BasePagination
from rest_framework.response import Response


class LimitPagination(BasePagination):
    """`?limit=N` and a bare array, without the count of all rows that LimitOffsetPagination makes."""

    def paginate_queryset(self, queryset, request, view=None):
        limit = request.query_params.get("limit", "100")
        if not limit.isdecimal():
            raise ValidationError({"limit": "limit must be a whole number from 0."})
        return list(queryset[: min(int(limit), 1000)])

    def get_paginated_response(self, data):
        return Response(data)
