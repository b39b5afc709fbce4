"""The lists of pets on SQLite, which does not know how many pets fit a filter or a search.

Without this module, the lists are the same, but some of those of a million pets take seconds on SQLite.
"""

from typing import Any

from django.db.models import BooleanField, ExpressionWrapper, Q, QuerySet
from django.http import HttpRequest
from django.utils.functional import cached_property

from pets.admin.lists.changelist import PetChangeList, SearchPaginator
from pets.admin.lists.filters import CREATED_DAYS, CREATOR, SOLD_DAYS, STATUS, TAG
from pets.admin.lists.ordering import indexed
from pets.models import Pet
from pets.search.words import found_among, having, search, words_of
from petservice.admin_pages import bounded_paginator
from petservice.admin_pages.bounded_paginator import MoreThan
from petservice.api.validators import is_id
from petservice.db.lookups import Among, Unindexed

# Maximum number of pets that are tested in the order of a list, beside two for each pet of its pages.
_MAX_TESTED = 5000


class SQLiteSearchPaginator(SearchPaginator):
    """A paginator that first counts the pets with the whole words, which SQLite finds one by one."""

    @cached_property
    def count(self) -> int:
        rows: Any = self.object_list
        maximum = bounded_paginator.MAX_COUNTED
        if getattr(rows, "with_whole_words", rows.none())[maximum : maximum + 1].exists():
            return MoreThan(maximum)
        return super().count


class SQLitePetChangeList(PetChangeList):
    """A list of pets for which SQLite reads few pets that are not shown."""

    search_paginator = SQLiteSearchPaginator

    def found(self, pets: QuerySet[Any]) -> QuerySet[Any]:
        self._by_index = fitting = pets.filter(*self.filters.values())
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
        if self.can_select_all:
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
