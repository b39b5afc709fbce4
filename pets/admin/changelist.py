"""A list of pets that costs the same however many there are: its order, its count, and its filters."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, NamedTuple

from django.contrib.admin import ListFilter
from django.contrib.admin.views.main import ChangeList
from django.core.paginator import Paginator
from django.db.models import F, QuerySet, Value
from django.db.models.lookups import GreaterThan, GreaterThanOrEqual, LessThan
from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import cached_property

from pets.case_insensitive import CaseInsensitive, equals, ranges
from pets.models import Pet

# Pets beyond are not counted and have no page: to see them, staff narrow the list down.
MAX_COUNTED = 10_000
_MAX_SUGGESTIONS = 20


class MoreThan(int):
    """A number that stands for any greater one as well."""

    def __str__(self) -> str:
        return f"more than {int(self):,}"


class BoundedPaginator(Paginator):
    """Pages without a full count."""

    @cached_property
    def count(self) -> int:
        rows: QuerySet[Any] = self.object_list  # type: ignore[assignment]  # the admin's lists are querysets
        count = rows.order_by()[: MAX_COUNTED + 1].values("pk").count()
        return count if count <= MAX_COUNTED else MoreThan(MAX_COUNTED)


class PetChangeList(ChangeList):
    """In the order that the admin says, which has an index, whatever an address asks for."""

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[Any]:
        return list(self.model_admin.get_ordering(request))


class Input(NamedTuple):
    """A field of a filter as its template shows it."""

    name: str
    label: str
    type: str
    value: str


class InputFilter(ListFilter):
    """A filter that staff type into. What cannot be meant is told, and finds nothing."""

    template = "admin/pets/input_filter.html"
    labels: dict[str, str]  # of the inputs, by parameter
    input_type = "text"
    error = ""

    def __init__(self, request: HttpRequest, params: dict[str, list[str]], model: Any, model_admin: Any) -> None:
        super().__init__(request, params, model, model_admin)
        for name in self.labels:
            if name in params:
                self.used_parameters[name] = params.pop(name)[-1]
        self.model_admin = model_admin

    def expected_parameters(self) -> list[str | None]:
        return list(self.labels)

    def has_output(self) -> bool:
        return True

    def choices(self, changelist: ChangeList) -> Iterator[dict[str, Any]]:
        """Nothing to choose, but what the template needs to keep the rest of the address."""
        in_use = any(self.used_parameters.values())
        yield {
            "inputs": [
                Input(name, label, self.input_type, "" if self.error else str(self.used_parameters.get(name, "")))
                for name, label in self.labels.items()
            ],
            "others": {name: value for name, value in changelist.params.items() if name not in self.labels},
            "clear": changelist.get_query_string(remove=list(self.labels)) if in_use else "",
            "links": list(self.links(changelist)),
        }

    def links(self, changelist: ChangeList) -> Iterator[tuple[str, str]]:
        """(text, address) of what is often asked for."""
        yield from ()


class TagFilter(InputFilter):
    """The pets with one tag, in any case; the page suggests tags while it is typed."""

    title = "tag"
    labels = {"tag": "Tag"}

    @property
    def suggestions(self) -> str:
        return str(self.model_admin.tags_address())

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        tag = str(self.used_parameters.get("tag", ""))
        if not tag:
            return queryset
        if "\0" in tag:  # which PostgreSQL does not take
            return queryset.none()
        return queryset.filter(equals("tag", tag))


class CreatedFilter(InputFilter):
    """The pets created from one day (UTC) to another, both included."""

    title = "day of creation (UTC)"
    labels = {"created_from": "From", "created_to": "To"}
    input_type = "date"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        try:
            first, last = (_day(self.used_parameters.get(name)) for name in self.labels)
        except ValueError:
            self.error = "Write a day as year-month-day, for example 2026-11-21."
            return queryset.none()
        if first:
            queryset = queryset.filter(created_at__gte=datetime.combine(first, time.min, UTC))
        if last:
            queryset = queryset.filter(created_at__lte=datetime.combine(last, time.max, UTC))
        return queryset

    def links(self, changelist: ChangeList) -> Iterator[tuple[str, str]]:
        today = timezone.now().astimezone(UTC).date()
        for text, days in (("Today", 1), ("Last 7 days", 7), ("Last 30 days", 30)):
            range_ = {"created_from": str(today - timedelta(days=days - 1)), "created_to": str(today)}
            yield text, changelist.get_query_string(range_)


def _day(text: object) -> date | None:
    return date.fromisoformat(str(text)) if text else None


def tags_starting_with(text: str) -> list[str]:
    """Some tags in use that begin with `text`, in any case, in order; each is one step in the index, not a scan."""
    tags: dict[str, str] = {}  # by what is the same in any case
    field = CaseInsensitive(F("tag"))
    for first, end in ranges(text):
        pets = Pet.objects.order_by(field).values_list("tag", flat=True).filter(LessThan(field, end))
        # One lower bound at a time: SQLite would begin each step at the first of two.
        tag = pets.filter(GreaterThanOrEqual(field, first)).first()
        while tag is not None and len(tags) < _MAX_SUGGESTIONS:
            tags.setdefault(tag.casefold(), tag)
            tag = pets.filter(GreaterThan(field, CaseInsensitive(Value(tag)))).first()
    return list(tags.values())
