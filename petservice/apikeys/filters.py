"""The filters of the list of API keys."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet, TextChoices
from django.http import HttpRequest
from django.utils import timezone

from petservice.apikeys.models import APIKey


class TimeDependentFilter(admin.SimpleListFilter):
    """A filter with a fixed set of choices, where the current time decides which keys match a choice."""

    choices_type: type[TextChoices]
    condition: Callable[[Any, datetime], Q]

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        return self.choices_type.choices

    def queryset(self, request: HttpRequest, queryset: QuerySet[APIKey]) -> QuerySet[APIKey]:
        value = self.value()
        if value is None or value not in self.choices_type.values:
            return queryset
        return queryset.filter(self.condition(self.choices_type(value), timezone.now()))


class StateFilter(TimeDependentFilter):
    """A filter by the state that the list shows."""

    title = parameter_name = "state"
    choices_type = APIKey.State
    condition = staticmethod(APIKey.in_state)


class UseFilter(TimeDependentFilter):
    """A filter for usable keys that have never been used, or not for a long time."""

    title = parameter_name = "use"
    choices_type = APIKey.Use
    condition = staticmethod(APIKey.in_use)
