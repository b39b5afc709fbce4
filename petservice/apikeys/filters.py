"""The filters of the list of API keys."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet, TextChoices
from django.http import HttpRequest
from django.utils import timezone

from petservice.apikeys.models import APIKey


class MomentFilter(admin.SimpleListFilter):
    """By one of `kinds`, each a condition of the moment."""

    kinds: type[TextChoices]
    condition: Callable[[Any, datetime], Q]

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        return self.kinds.choices

    def queryset(self, request: HttpRequest, queryset: QuerySet[APIKey]) -> QuerySet[APIKey]:
        kind = self.value()
        if kind is None or kind not in self.kinds.values:
            return queryset
        return queryset.filter(self.condition(self.kinds(kind), timezone.now()))


class StateFilter(MomentFilter):
    """By what the list shows as the state."""

    title = parameter_name = "state"
    kinds = APIKey.State
    condition = staticmethod(APIKey.in_state)


class UseFilter(MomentFilter):
    """By whether a usable key is used at all."""

    title = parameter_name = "use"
    kinds = APIKey.Use
    condition = staticmethod(APIKey.in_use)
