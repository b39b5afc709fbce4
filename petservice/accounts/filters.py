"""The filter of the list of staff accounts."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from petservice.accounts.models import State


class StateFilter(admin.SimpleListFilter):
    """A filter by state, for a query that is annotated with the states of the accounts."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(state.value, str(state.label)) for state in State]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        return queryset.filter(state=self.value()) if self.value() in State.values else queryset
