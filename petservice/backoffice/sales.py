"""What the dashboard shows of the pets that came in and were sold, at a cost that a maximum of rows limits."""

from collections import defaultdict
from datetime import date, timedelta
from functools import cache as cached
from statistics import median
from typing import Any

from django.core.cache import cache
from django.db.models import Count, F, Model, Q, Value
from django.db.models.lookups import GreaterThanOrEqual, LessThanOrEqual
from django.urls import reverse

from pets.models import Pet
from pets.models.pet import count_of_pets
from pets.search.case_insensitive import CaseInsensitive, is_absent
from pets.search.tags import found_tag, spellings_in_use
from petservice.configuration.time_zone import in_days

# The number of days, including today.
DAYS = 30
# Seconds for which the numbers of the days are cached, because counting reads an index entry for each pet of the days.
DAYS_MAX_AGE = 60
# Seconds for which the table of tags is cached. It changes more slowly, and rarely expires with the days.
TAGS_MAX_AGE = 300
# Maximum number of tags in the table, and of sales and of pets with each tag that are read for it.
TAGS = 8
MAX_SALES = 3_000
MAX_PETS = 2_000

_DAY = timedelta(days=1)
_FIELDS = {"created": "created_at", "sold": "sold_at"}


def list_url(model: type[Model], **filters: object) -> str:
    """Return the URL of the list of a model with these filters."""
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist", query=filters)


def section(today: date) -> dict[str, Any]:
    """Return a chart of the pets that came in and were sold on each of the last days, and a table of the best tags."""
    days = [today - ago * _DAY for ago in range(DAYS)]
    counts: Any = cache.get_or_set(f"sales-per-day-{today}", lambda: _counts(days), DAYS_MAX_AGE)
    tags = cache.get_or_set(f"sales-by-tag-{today}", lambda: _tags(days), TAGS_MAX_AGE)
    rows = [[_day(kind, day, counts[kind][day]) for kind in _FIELDS] for day in reversed(days)]
    totals = {kind: _totals(kind, days, [counts[kind][day] for day in days]) for kind in _FIELDS}
    largest = max(bar["count"] for row in rows for bar in row)
    return totals | {"rows": rows, "yesterday": rows[-2], "largest": largest, "tags": tags, "max_sales": MAX_SALES}


def _day(kind: str, day: date, count: int) -> dict[str, Any]:
    text = f"{count_of_pets(count)} {kind}"
    return {"day": day, "count": count, "text": text, "url": _url(kind, day, day)}


def _totals(kind: str, days: list[date], counts: list[int]) -> dict[str, Any]:
    """Return the total of the days, newest first, and those of the two weeks before today, which is not over."""
    url = _url(kind, days[-1], days[0])
    return {"total": sum(counts), "url": url, "last_week": sum(counts[1:8]), "week_before": sum(counts[8:15])}


def _url(kind: str, first: date, last: date) -> str:
    return list_url(Pet, **{f"{kind}_from": first, f"{kind}_to": last})


def _counts(days: list[date]) -> dict[str, dict[date, int]]:
    """Count what happened on each day of the store, with one index range per day."""
    pets = {"created": Pet.objects.order_by(), "sold": Pet.objects.filter(status=Pet.Status.SOLD).order_by()}
    return {
        kind: {day: pets[kind].filter(in_days(field, day, day)).count() for day in days}
        for kind, field in _FIELDS.items()
    }


def _tags(days: list[date]) -> dict[str, Any]:
    """Return the tags with the most sales, each with its numbers, and whether only the last sales were read."""
    sales = Pet.objects.filter(in_days("sold_at", days[-1], days[0]), status=Pet.Status.SOLD)
    sales = sales.order_by(F("sold_at").desc(nulls_last=True), "-created_at", "-pk")  # as an index has them
    rows: list[Any] = [*sales.values_list("tag", "created_at", "sold_at")[: MAX_SALES + 1]]
    stocks: dict[str | None, list[float]] = defaultdict(list)  # the days in stock of each sold pet, by its tag
    names: dict[str | None, str | None] = {}
    form = cached(found_tag)  # few tags are different
    for tag, created_at, sold_at in rows[:MAX_SALES]:
        key = tag and form(tag)
        names.setdefault(key, tag)
        stocks[key].append((sold_at - created_at) / _DAY)
    best = sorted(stocks, key=lambda key: (-len(stocks[key]), key or ""))[:TAGS]
    return {
        "rows": [_tag(names[key], stocks[key], days) for key in best],
        "number": len(stocks),
        "are_all_sales": len(rows) <= MAX_SALES,
    }


def _tag(tag: str | None, stocks: list[float], days: list[date]) -> dict[str, Any]:
    filters: dict[str, object] = {"no_tag": 1} if tag is None else {"tag": tag}
    conditions = [is_absent("tag")] if tag is None else map(_has_tag, spellings_in_use(tag))
    counts = []
    for condition in conditions:
        newest = Pet.objects.filter(condition).order_by(CaseInsensitive("tag").desc(), "-created_at", "-pk")
        available = Count("pk", filter=Q(status=Pet.Status.AVAILABLE))
        counts.append(newest[: MAX_PETS + 1].aggregate(pets=Count("pk"), available=available))
    return {
        "name": tag,
        "available": sum(one["available"] for one in counts),
        "are_all_pets": all(one["pets"] <= MAX_PETS for one in counts),
        "available_url": list_url(Pet, status__exact=Pet.Status.AVAILABLE, **filters),
        "sold": len(stocks),
        "sold_url": list_url(Pet, sold_from=days[-1], sold_to=days[0], **filters),
        "days_in_stock": max(median(stocks), 0),
    }


def _has_tag(text: str) -> Q:
    """Return the condition for pets with one spelling of a tag, as a range.

    For an equality, PostgreSQL may read all pets in the order of their creation, because it expects the tag at once.
    """
    tag, value = CaseInsensitive(F("tag")), CaseInsensitive(Value(text))
    return Q(GreaterThanOrEqual(tag, value)) & Q(LessThanOrEqual(tag, value))
