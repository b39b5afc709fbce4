"""The lists of pets: one query with the search, the filters and the order."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.exceptions import DisallowedModelAdminLookup
from django.contrib.admin.views.main import ALL_VAR, ORDER_VAR, SEARCH_VAR, ChangeList
from django.db.models import BooleanField, ExpressionWrapper, Q, QuerySet, TextField
from django.db.models.functions import Cast
from django.http import HttpRequest
from django.utils.functional import cached_property

from pets.admin.lists.filters import (
    CREATED_DAYS,
    CREATOR,
    PARAMETERS,
    SOLD_DAYS,
    STATUS,
    TAG,
    PetFilterForm,
    filters_in_words,
)
from pets.admin.lists.ordering import FIRST_NAME_FIRST, LAST_SOLD_FIRST, NEWEST_FIRST, indexed, is_order
from pets.admin.lists.saved_filters import kept
from pets.admin.lists.suggestions import Filter, Suggestion, suggestions
from pets.models import Pet, SavedFilter
from pets.search.words import found_among, having, search, words_of
from petservice.admin_pages import bounded_paginator
from petservice.admin_pages.bounded_paginator import BoundedPaginator, MoreThan, RowCount
from petservice.api.validators import is_id
from petservice.db.backend import backend
from petservice.db.lookups import Among, Unindexed

# Maximum number of pets that are tested in the order of a list, beside two for each pet of its pages.
_MAX_TESTED = 5000
# Maximum number of pets that a list reads by their keys, which takes PostgreSQL 50 µs for each of thousands.
_MAX_READ_BY_KEY = 1000


class OrderedChangeList(ChangeList):
    """A list in the order of the admin class, which has an index, and not in that of the URL."""

    @property
    def can_select_all(self) -> bool:
        """Return whether an action accepts all pets of the list."""
        return not isinstance(self.result_count, MoreThan)

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[Any]:
        self.query = self.query.strip()  # pasted ids and names often have white space around them
        return super().get_queryset(request, exclude_parameters)

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.page_num = self.paginator.validate_number(self.page_num)
        if self.result_count <= self.list_per_page:  # to find few rows takes long, and the count has done it
            self.result_list = self.paginator.object_list if self.result_count else self.queryset.none()

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[Any]:
        return list(self.model_admin.get_ordering(request))


class SearchPaginator(BoundedPaginator):
    """A paginator of the rows that a search finds, which can take longer than all the rest of a page.

    If they are few, they are read by their keys, and not found again. PostgreSQL guesses how many rows a search finds,
    and might go through all pets in the order of the list for the few that fit.
    """

    @cached_property
    def count(self) -> int:
        rows: QuerySet[Any] = self.object_list  # type: ignore[assignment]
        maximum = bounded_paginator.MAX_COUNTED
        if getattr(rows, "with_whole_words", rows.none())[maximum : maximum + 1].exists():
            return MoreThan(maximum)
        # As text, because Python takes several times as long to make the text of a `uuid` as PostgreSQL does.
        found = [*rows.order_by().values_list(Cast("pk", TextField()), flat=True)[: maximum + 1]]
        if len(found) <= min(maximum, _MAX_READ_BY_KEY):
            self.object_list = rows.model._default_manager.filter(Among("pk", found)).order_by(*rows.query.order_by)
        return RowCount(len(found)) if len(found) <= maximum else MoreThan(maximum)


class OrderedList(admin.ModelAdmin):
    """A mixin of pages whose list has the order of the admin class and counts a limited number of rows."""

    paginator = BoundedPaginator
    sortable_by = ()

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[OrderedChangeList]:
        return OrderedChangeList


class PetChangeList(OrderedChangeList):
    """A list of pets, with the filters above it."""

    def get_filters(self, request: HttpRequest) -> Any:
        """Read our form of the filters, and reject the other conditions that Django accepts in a URL."""
        if unknown := self.get_filters_params().keys() - PARAMETERS:
            raise DisallowedModelAdminLookup(f"Filtering by {', '.join(unknown)} is not allowed.")
        self.user, self.address = request.user, request.build_absolute_uri()
        # The parameter to show all pets has no value.
        self.filter_params = {name: one for name, one in self.filter_params.items() if any(one) or name == ALL_VAR}
        self.filter_form = PetFilterForm(self.params, auto_id=False)
        self.filters = self.filter_form.conditions()
        return [], False, {}, False, bool(self.filters)

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[Any]:
        pets = super().get_queryset(request, exclude_parameters)  # reads the filters as well
        self._by_index = fitting = pets.filter(*self.filters.values())
        if not backend().is_embedded:
            return search(fitting, self.query) if self.query else fitting
        in_search = self.filter_form.cleaned_data.get("tag", ""), self.filter_form.words()
        if len(self.filters) > 1:
            rare = next((names for names in self.filters if self._is_rare(names)), None)
            self._by_index = fitting = pets.filter(*self._conditions(rare))
            if rare is None and CREATED_DAYS not in self.filters:
                fitting = having(fitting, *in_search)
        if not self.query:
            return fitting
        if self.filters and not is_id(self.query.lower()):
            few = [*fitting.order_by().values_list("pk", "name", "tag")[: _MAX_TESTED + 1]]
            if len(few) <= _MAX_TESTED:
                found = found_among([texts for _, *texts in few], self.query)
                keys = Among("pk", [few[position][0] for position in found])
                return pets.filter(keys, *map(Unindexed, self.filters.values()))  # a pet may have changed since
        result: Any = search(self._by_index, self.query, *in_search)
        if any(len(word) > 1 for word in words_of(self.query)):
            result.with_whole_words = search(self._by_index.order_by(), self.query, *in_search, whole=True)
        return result  # type: ignore[no-any-return]

    def _conditions(self, rare: tuple[str, ...] | None) -> list[Any]:
        """Return the filters for SQLite, which does not know how many pets fit each of them.

        It uses the index of one that few pets fit, if there is one. Beside a tag or days, it could take the index of a
        status or a creator, which many pets have.
        """
        broad = {STATUS, CREATOR} if self.filters.keys() & {TAG, SOLD_DAYS} else set()
        used = {rare} if rare else self.filters.keys() - broad
        return [one if names in used else Unindexed(one) for names, one in self.filters.items()]

    def _is_rare(self, names: tuple[str, ...]) -> bool:
        return not Pet.objects.filter(self.filters[names])[_MAX_TESTED : _MAX_TESTED + 1].exists()

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        end = self.page_num * self.list_per_page
        if self.can_select_all or not backend().is_embedded:
            return
        if not self.query and self.filters.keys() == self._indexed_filters():
            self.queryset = self._by_index
            self.result_list = self.queryset[end - self.list_per_page : end]
        # Without an index that has both the filters and the order, SQLite sorts all pets that fit.
        elif len(first := self._first(end)) == end:
            shown = self.root_queryset.filter(Among("pk", first[-self.list_per_page :]))
            self.result_list = shown.order_by(*indexed(self.order))

    def _first(self, number: int) -> list[str]:
        """Return the ids of the first pets of the list, or of fewer if some are far from the beginning of its order.

        SQLite reads pets in the order by an index, which also has the filters that the order allows.
        """
        in_index = [self.filters[names] for names in self._indexed_filters()]
        pets = self.root_queryset.filter(*in_index).order_by(*indexed(self.order))
        pets = pets.annotate(fits=ExpressionWrapper(Q(*self.filters.values()), BooleanField()))
        rows = pets.values_list("pk", "name", "tag", "fits")[: _MAX_TESTED + 2 * number]
        fit = [(pk, (name, tag)) for pk, name, tag, fits in rows if fits]
        found = found_among([texts for _, texts in fit], self.query) if self.query else range(len(fit))
        return [fit[position][0] for position in found[:number]]

    def _indexed_filters(self) -> set[tuple[str, ...]]:
        """Return the filters that an index has together with the order."""
        names: set[tuple[str, ...]] = set(self.filters)
        of_order: dict[str, set[tuple[str, ...]]] = {"status": {STATUS}, "sold_at": {STATUS, SOLD_DAYS}}
        of_order["created_at"] = names - {SOLD_DAYS}
        return names & of_order.get(self.order.removeprefix("-"), set())

    @cached_property
    def suggestions(self) -> list[Suggestion]:
        """Return other lists that have pets, if this one has none."""
        # Not in the constructor, because an export makes a list that does not count its pets.
        if not self.is_narrowed or self.result_count:
            return []
        return suggestions(self.query, self.active_filters())

    @property
    def hidden_parameters(self) -> dict[str, str]:
        """Return the parameters of the URL that the form of the search and the filters keeps."""
        return {name: value for name, value in self.params.items() if name not in (SEARCH_VAR, *PARAMETERS)}

    @property
    def is_narrowed(self) -> bool:
        """Return whether the list has a search or a filter."""
        return bool(self.query or self.filters)

    def active_filters(self) -> list[Filter]:
        """Return the filters in use."""
        found = []
        for names, condition in self.filters.items():
            parameters = {name: self.params[name] for name in names if self.params.get(name)}
            found.append((filters_in_words(parameters), parameters, condition))
        return found

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

    def sortable_columns(self) -> list[tuple[int, str]]:
        """Return the numbers and the fields of the columns that an index sorts."""
        fields = [(number, str(self.get_ordering_field(name))) for number, name in enumerate(self.list_display)]
        return [(number, field) for number, field in fields if is_order(field)]

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[Any]:
        return indexed(self.order)

    def get_ordering_field_columns(self) -> Any:
        """Return the column that the headers show as sorted."""
        columns = {field: number for number, field in self.sortable_columns()}
        return {columns[self.order.removeprefix("-")]: "desc" if self.order.startswith("-") else "asc"}
