"""The filter of the list of staff accounts."""

from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from petservice.accounts.models import UNUSABLE_PASSWORD, Account, State

_STAFF = Q(is_active=True, is_staff=True)
_CONDITIONS = {
    State.ACTIVE: _STAFF & Q(is_locked=False) & ~UNUSABLE_PASSWORD,
    State.INVITED: _STAFF & Q(is_locked=False) & UNUSABLE_PASSWORD,
    State.LOCKED: _STAFF & Q(is_locked=True),
    State.DEACTIVATED: Q(is_active=False),
    State.NOT_STAFF: Q(is_active=True, is_staff=False),
}


class StateFilter(admin.SimpleListFilter):
    """A filter by state, for a query that says which accounts are locked."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(state.value, str(state.label)) for state in State]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Account]) -> QuerySet[Account]:
        condition = _CONDITIONS.get(self.value())  # type: ignore[call-overload]  # a state equals its text
        return queryset if condition is None else queryset.filter(condition)
