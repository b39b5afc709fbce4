"""How a list with several conditions stays fast: the database reads a limited number of pets, from one index."""

from collections.abc import Sequence
from functools import reduce
from heapq import merge
from operator import or_
from typing import Any, NamedTuple

from django.db.models import Case, Q, QuerySet, Value, When
from django.db.models.lookups import Exact

from pets.admin.ordering import NEWEST_FIRST, Order
from pets.admin.search import Found
from pets.models import Pet
from petservice.admin_pages.bounded_paginator import MAX_COUNTED
from petservice.db.lookups import Among, IDText


class Condition(NamedTuple):
    """A condition of a list: one of several alternatives, each of which an index finds in the order of days.

    A period is found in the order of days by the index of any other condition as well.
    """

    alternatives: tuple[Q, ...]
    is_period: bool = False
    # The first column of the index, if all values are null there. PostgreSQL finds the order only if it is named.
    null_column: Any = None

    @property
    def any(self) -> Q:
        """Return the condition as one expression."""
        return reduce(or_, self.alternatives, Q(pk__in=[]) if not self.alternatives else Q())


_ALL = Condition((Q(),))


def narrow(
    queryset: QuerySet[Any], conditions: Sequence[Condition], found: Found | None, order: Order
) -> tuple[QuerySet[Any], list[str] | None, bool]:
    """Apply the conditions, the result of a search and the order to a queryset of all pets.

    Returns the queryset of the list, its ids in order if they are known, and whether these are all that fit.
    """
    if found is None and _is_indexed(conditions, order):
        queryset = queryset.filter(*(each.any for each in conditions))
        null_columns = [each.null_column for each in conditions if each.null_column is not None]
        return queryset.order_by(*order.after(null_columns)), None, True
    candidates, is_complete = _candidates(conditions, found, order)
    fitting = queryset.filter(Among("pk", candidates), *(_without_index(each.any) for each in conditions))
    ids = list(fitting.order_by(*order.sorted).values_list(IDText("pk"), flat=True)) if candidates else []
    return queryset.filter(Among("pk", ids)).order_by(*order.sorted), ids, is_complete


def _without_index(condition: Q) -> Exact:
    """Return a condition in a form that keeps the database from reading an index, which would have more pets."""
    return Exact(Case(When(condition, then=Value(1)), default=Value(0)), 1)


def _is_indexed(conditions: Sequence[Condition], order: Order) -> bool:
    """Return whether an index has exactly these pets in this order."""
    if order.field != "created_at":
        return not conditions
    others = [condition for condition in conditions if not condition.is_period]
    return not others or (len(others) == 1 and len(others[0].alternatives) == 1)


def _candidates(conditions: Sequence[Condition], found: Found | None, order: Order) -> tuple[list[str], bool]:
    """Return the ids of the pets of one condition that has at most MAX_COUNTED pets.

    If no condition is as narrow, return the first MAX_COUNTED pets of the search, or those in the order of the list.
    """
    if found is not None and found.is_complete:
        return found.ids, True
    periods = [condition.any for condition in conditions if condition.is_period]
    others = [condition for condition in conditions if not condition.is_period]
    groups = others or ([_ALL] if periods else [])
    for condition in groups:
        ids = _first(condition, periods, NEWEST_FIRST)
        if len(ids) <= MAX_COUNTED:
            return ids, True
    if found is not None:
        return found.ids if not conditions else found.ids[:MAX_COUNTED], False
    if order.field == "created_at":
        return _first(groups[0], periods, order)[:MAX_COUNTED], False
    return _first(_ALL, [], order)[:MAX_COUNTED], False


def _first(condition: Condition, periods: Sequence[Q], order: Order) -> list[str]:
    """Return the first pets in an order that fit a condition and the periods, at most one more than MAX_COUNTED."""
    pets = Pet.objects.filter(*periods).order_by(*order.after([condition.null_column]))
    alternatives, limit = condition.alternatives, MAX_COUNTED + 1
    if len(alternatives) == 1:
        return list(pets.filter(alternatives[0]).values_list(IDText("pk"), flat=True)[:limit])
    parts = [pets.filter(each).values_list("created_at", IDText("pk"))[:limit] for each in alternatives]
    return list(dict.fromkeys(pk for _, pk in merge(*parts, reverse=order.is_descending)))[:limit]
