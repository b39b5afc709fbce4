"""The lists of pets on SQLite, which does not estimate how many pets fit a filter or a search.

Without this module, the lists are the same, but some of those of a million pets take seconds on SQLite.
"""

from collections.abc import Iterable
from itertools import islice
from typing import Any

from django.db.models import Case, Count, ExpressionWrapper, IntegerField, Max, Min, Q, QuerySet, When
from django.db.models.expressions import RawSQL
from django.http import HttpRequest
from django.utils.functional import cached_property

from pets.admin.lists.changelist import PetChangeList
from pets.admin.lists.filters import CREATED_DAYS, CREATOR, SOLD_DAYS, STATUS, TAG
from pets.admin.lists.ordering import indexed
from pets.search.words import ALL_NUMBERS, found_among, having, search
from petservice.api.validators import is_id

# Maximum number of pets that are tested in the order of a list, which takes some 80 ms.
_MAX_TESTED = 12_000
# Maximum number of pets that fit one filter and are read by their keys, so that no other index is used.
_FEW = 2000
# Maximum number of pets of some days that are read from an index, which takes some 10 ms.
_MAX_OF_DAYS = 120_000
# The filters that the index of an order can test without reading the row of each pet.
_IN_INDEX_OF_ORDER: dict[str, set[tuple[str, ...]]] = {
    "status": {CREATED_DAYS},
    "sold_at": {STATUS, SOLD_DAYS, CREATED_DAYS},
}


class SQLitePetChangeList(PetChangeList):
    """A list of pets for which SQLite reads few pets that are not shown."""

    def found(self, pets: QuerySet[Any]) -> QuerySet[Any]:
        fitting = pets.filter(*self.filters.values())
        for condition in self.filters.values():
            keys = pets.filter(condition).order_by().values_list("pk", flat=True)
            if not keys[_FEW : _FEW + 1].exists():
                few_fitting = pets.filter(*_not_by_index(self.filters.values()), pk__in=[*keys])
                return self._found_among(few_fitting) if self.query else few_fitting
        if self.query:
            return search(fitting, self.query, *self._in_search, self._numbers_of_days)
        # The index of days finds few pets for a day, and the index of words all that fit the other filters.
        if CREATED_DAYS in self.filters:
            return pets.filter(*self._conditions({*self.filters}))
        return having(fitting, *self._in_search)

    @cached_property
    def _in_search(self) -> tuple[list[str], list[str], list[str]]:
        """Return the tags, the values of filters and the excluded values for the index of words."""
        return self.filter_form.spellings, self.filter_form.words(), self.filter_form.excluded_words()

    @cached_property
    def _numbers_of_days(self) -> tuple[int, int] | None:
        """Return the first and the last number of the pets of the days of creation, unless they are too many.

        Few others are between them, because pets are numbered as they come, and most are new then.
        """
        if CREATED_DAYS not in self.filters:
            return None
        of_days = self.root_queryset.filter(self.filters[CREATED_DAYS]).order_by()
        some = of_days.values(number=RawSQL("pets_pet.number", ()))[: _MAX_OF_DAYS + 1]
        found = some.aggregate(first=Min("number"), last=Max("number"), count=Count("number"))
        return (found["first"], found["last"]) if found["count"] <= _MAX_OF_DAYS else None

    def _found_among(self, few: QuerySet[Any]) -> QuerySet[Any]:
        """Return those of few pets that the search finds, without reading the others that it finds."""
        if is_id(self.query.lower()):
            return search(few, self.query)
        some = [*few.order_by().values_list("pk", "name", "tag")]
        found = found_among([texts for _, *texts in some], self.query)
        return few.filter(pk__in=[some[position][0] for position in found])

    def get_results(self, request: HttpRequest) -> None:
        in_order = self.queryset
        is_until_now = CREATED_DAYS in self.filters and not self.params.get("created_to")
        if is_until_now and in_order.query.extra_tables:  # the index of words would begin with the oldest pets
            self.queryset = in_order.extra(order_by=["-pets_search.rowid"])
        super().get_results(request)
        self.queryset = in_order
        end = self.page_num * self.list_per_page
        if self.can_select_all:
            return
        if not self.query and self.filters.keys() == self._indexed_filters():
            self.queryset = self._in_order()
            self.result_list = self.queryset[end - self.list_per_page : end]
        # Without an index that has both the filters and the order, SQLite sorts all pets that fit.
        elif len(first := self._first(end)) == end:
            shown = self.root_queryset.filter(pk__in=first[-self.list_per_page :])
            self.result_list = shown.order_by(*indexed(self.order_of_index))
        else:
            # To sort all that fit would read each of them from the table.
            pets = self._in_order().filter(*_not_by_index(self.filters.values()))
            in_search = *self._in_search, self._numbers_of_days or ALL_NUMBERS
            found = search(pets, self.query, *in_search) if self.query else having(pets, *in_search)
            if found is not pets or self.filters.keys() <= self._tested_in_index:
                self.result_list = found[end - self.list_per_page : end]

    @property
    def _tested_in_index(self) -> set[tuple[str, ...]]:
        return _IN_INDEX_OF_ORDER.get(self.order_of_index.removeprefix("-"), set())

    def _first(self, number: int) -> list[str]:
        """Return the ids of the first pets of the list, or of fewer if some are far from the beginning of its order."""
        # Pets of a tag may be older than thousands of the others that were sold, and the index of tags has their order.
        by_sale = SOLD_DAYS in self.filters and TAG not in self.filters and self.order_of_index.endswith("created_at")
        pets = self._first_sold() if by_sale else self._in_order()
        in_index = _not_by_index(self.filters[one] for one in self.filters.keys() & self._tested_in_index)
        # An integer, because Django would convert each boolean.
        pets = pets.filter(*in_index).annotate(fits=ExpressionWrapper(Q(*self.filters.values()), IntegerField()))
        rows = pets.values_list("pk", "name", "tag", "fits")[:_MAX_TESTED].iterator(self.list_per_page)
        first: list[str] = []
        tested, size = 0, 2 * number
        while len(first) < number and (some := [*islice(rows, size)]):
            fit = [(pk, (name, tag)) for pk, name, tag, fits in some if fits]
            found = found_among([texts for _, texts in fit], self.query) if self.query else range(len(fit))
            first += [fit[position][0] for position in found]
            tested, size = tested + size, 2 * size
            # If so few fit, as many as are tested would hardly be enough.
            if tested >= _MAX_TESTED / 8 and len(first) / tested < number / _MAX_TESTED:
                break
        return first[:number]

    def _in_order(self) -> QuerySet[Any]:
        """Return pets in the order of the list, by an index that also has the filters that the order allows."""
        conditions = self._conditions(self._indexed_filters())
        return self.root_queryset.filter(*conditions).order_by(*indexed(self.order_of_index))

    def _conditions(self, names: set[tuple[str, ...]]) -> list[Q | Case]:
        """Return the conditions of filters, so that SQLite uses the index of the tag if they have one.

        SQLite takes any of several indexes. That of a tag finds fewer pets than those of statuses, creators and sales,
        but most pets may have none.
        """
        others = {STATUS, CREATOR, SOLD_DAYS} if self.filter_form.spellings else {SOLD_DAYS}
        hidden = names & others if TAG in names else set()
        in_index = [self.filters[one] for one in names - hidden]
        return in_index + _not_by_index(self.filters[one] for one in hidden)

    def _first_sold(self) -> QuerySet[Any]:
        """Return the first of the pets that were sold in a period, in the order of their creation.

        The index of sales has both times, so that the time of the last one is found without reading the pets.
        """
        order = self.order_of_index
        names = self.filters.keys() & {STATUS, SOLD_DAYS, CREATED_DAYS}
        sold = self.root_queryset.filter(*[self.filters[one] for one in names]).order_by(order)
        # Without another condition, all of them fit.
        is_tested = self.query or names != self.filters.keys()
        # To find the time of the last of many would take longer than to test them among all pets.
        if is_tested and sold.order_by()[_MAX_OF_DAYS : _MAX_OF_DAYS + 1].exists():
            return self._in_order()
        number = _MAX_TESTED if is_tested else self.page_num * self.list_per_page
        last = sold.values("created_at")[number - 1 : number]
        side = "gte" if order.startswith("-") else "lte"
        return sold.filter(**{f"created_at__{side}": last}).order_by(*indexed(order))

    def _indexed_filters(self) -> set[tuple[str, ...]]:
        """Return the filters that an index has together with the order."""
        names: set[tuple[str, ...]] = set(self.filters)
        of_order: dict[str, set[tuple[str, ...]]] = {"status": {STATUS}, "sold_at": {STATUS, SOLD_DAYS}}
        # SQLite would sort all pets that have one of several spellings of a tag.
        not_in_order = {SOLD_DAYS, TAG} if len(self.filter_form.spellings) > 1 else {SOLD_DAYS}
        of_order["created_at"] = names - not_in_order
        return names & of_order.get(self.order_of_index.removeprefix("-"), set())


def _not_by_index(conditions: Iterable[Q]) -> list[Case]:
    """Return conditions for which SQLite uses no index."""
    return [Case(When(one, then=True), default=False) for one in conditions if one]
