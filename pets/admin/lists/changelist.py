"""The lists of pets: one query with the search, the filters and the order."""

from typing import Any

from django.contrib.admin.exceptions import DisallowedModelAdminLookup
from django.contrib.admin.views.main import ORDER_VAR, SEARCH_VAR
from django.db import connection
from django.db.models import Q, QuerySet
from django.db.models.expressions import RawSQL
from django.http import HttpRequest
from django.utils.functional import cached_property

from pets.admin.lists.filters import PARAMETERS, SOLD_DAYS, STATUS, PetFilterForm, filters_in_words
from pets.admin.lists.ordering import FIRST_NAME_FIRST, LAST_SOLD_FIRST, NEWEST_FIRST, indexed, is_order
from pets.admin.lists.saved_filters import kept
from pets.admin.lists.suggestions import suggestions
from pets.models import Pet, SavedFilter
from pets.search.words import search
from petservice.admin_pages import bounded_paginator
from petservice.admin_pages.bounded_paginator import BoundedChangeList, BoundedPaginator, MoreThan, RowCount

# Maximum number of pets that a list shows if it has more than it counts. Databases would take long to reach later ones.
MAX_SHOWN = 1000
# The keys of an array, because PostgreSQL would go through all pets for those of a list of thousands of values.
_KEYS = "SELECT unnest(%s::uuid[])"
_INTRODUCTION = "Press a status to change it. To change many together, select their rows."


class PetPaginator(BoundedPaginator):
    """A paginator that shows at most MAX_SHOWN pets if there are more than it counts."""

    @cached_property
    def num_pages(self) -> int:
        return MAX_SHOWN // self.per_page if isinstance(self.count, MoreThan) else super().num_pages


class SearchPaginator(PetPaginator):
    """A paginator of the rows that a search finds, which can take longer than all the rest of a page.

    If they are few, they are read by their keys, and not found again. PostgreSQL guesses how many rows a search finds,
    and might go through all pets in the order of the list for the few that fit.
    """

    @cached_property
    def count(self) -> int:
        rows: QuerySet[Any] = self.object_list  # type: ignore[assignment]  # the stubs allow any sequence
        maximum = bounded_paginator.MAX_COUNTED
        counted = rows if rows.query.extra_order_by else rows.order_by()  # a list on SQLite can have an order for this
        found = [*counted.values_list("pk", flat=True)[: maximum + 1]]
        if len(found) > maximum:
            return MoreThan(maximum)
        keys: Any = found if connection.vendor == "sqlite" else RawSQL(_KEYS, [found])  # noqa: S611  # the SQL is constant
        self.object_list = rows.model._default_manager.filter(pk__in=keys).order_by(*rows.query.order_by)
        return RowCount(len(found))


class PetChangeList(BoundedChangeList):
    """A list of pets, with the filters above it."""

    max_shown = MAX_SHOWN

    def get_filters(self, request: HttpRequest) -> Any:
        """Read our form of the filters, and reject the other conditions that Django accepts in a URL."""
        if unknown := self.get_filters_params().keys() - PARAMETERS:
            raise DisallowedModelAdminLookup(f"Filtering by {', '.join(unknown)} is not allowed.")
        self.introduction = _INTRODUCTION if self.model_admin.has_change_permission(request) else ""
        self.user, self.url = request.user, request.build_absolute_uri()
        self.filter_form = PetFilterForm(self.params, auto_id=False)
        self.filters = self.filter_form.conditions()
        return [], False, {}, False, bool(self.filters)

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[Any]:
        self.query = self.query.strip()  # pasted ids and names often have white space around them
        return self.found(super().get_queryset(request, exclude_parameters))  # which reads the filters as well

    def found(self, pets: QuerySet[Any]) -> QuerySet[Any]:
        """Return the pets that fit the filters, and that the search finds."""
        fitting = pets.filter(*self.filters.values())
        return search(fitting, self.query) if self.query else fitting

    @cached_property
    def suggestions(self) -> list[tuple[str, str]]:
        """Return other lists that have pets, if the search and the filters find none."""
        # Not in the constructor, because an export makes a list that does not count its pets.
        return suggestions(self.query) if self.query and not self.result_count else []

    @property
    def in_words(self) -> str:
        """Return the search and the filters in words, or an empty text if there are none."""
        return filters_in_words(self.params | {SEARCH_VAR: self.query})

    # The filters that the user saved or can save.

    @property
    def query_to_save(self) -> str:
        """Return the query string of this list, or an empty string if it has neither a search nor a filter."""
        return kept(self.params | {ORDER_VAR: "" if self.order == self.usual_order else self.order})

    @property
    def saved_filters(self) -> QuerySet[SavedFilter]:
        """Return the saved filters of the user, and those that others share."""
        found = SavedFilter.objects.filter(Q(owner_id=self.user.pk) | Q(is_shared=True))
        return found.select_related("owner").order_by("name", "pk")

    # The order of the list.

    @property
    def order(self) -> str:
        """Return the order that the URL names by the number of a column or by a field, or the usual one."""
        parameter = self.params.get(ORDER_VAR, "")
        sign, name = ("-", parameter[1:]) if parameter.startswith("-") else ("", parameter)
        order = sign + {str(number): field for number, field in self.sortable_columns()}.get(name, name)
        return order if is_order(order) else self.usual_order

    @property
    def usual_order(self) -> str:
        """Return the order of the list if the URL names none."""
        if self.query:
            return FIRST_NAME_FIRST
        return LAST_SOLD_FIRST if SOLD_DAYS in self.filters else NEWEST_FIRST

    @property
    def order_of_index(self) -> str:
        """Return the order, or that of creation, which is the same if all pets have one status, and none a sale."""
        if not self.filters.keys() & {STATUS, SOLD_DAYS}:
            return self.order
        order = self.order.replace("status", "created_at")
        is_sold = SOLD_DAYS in self.filters or self.params["status__exact"] == Pet.Status.SOLD
        return order if is_sold else order.replace("sold_at", "created_at")

    def sortable_columns(self) -> list[tuple[int, str]]:
        """Return the numbers and the fields of the columns that an index sorts."""
        fields = [(number, str(self.get_ordering_field(name))) for number, name in enumerate(self.list_display)]
        return [(number, field) for number, field in fields if is_order(field)]

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[Any]:
        return indexed(self.order_of_index)

    def get_ordering_field_columns(self) -> Any:
        """Return the column that the headers show as sorted."""
        columns = {field: number for number, field in self.sortable_columns()}
        return {columns[self.order.removeprefix("-")]: "desc" if self.order.startswith("-") else "asc"}
