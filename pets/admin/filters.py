"""The filters of the lists of pets, in the page and in words."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, NamedTuple

from django.contrib.admin import ListFilter
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest, QueryDict
from django.utils import timezone

from pets.case_insensitive import equals


class Input(NamedTuple):
    """A field of a filter, as the template needs it."""

    name: str
    label: str
    type: str
    value: str


class InputFilter(ListFilter):
    """A filter with text fields. An invalid value shows an error and an empty list."""

    template = "admin/pets/input_filter.html"
    labels: dict[str, str]  # by the parameters of the URL
    input_type = "text"
    error = ""
    shows_values = True  # browsers reject a value that is not of the type of the input

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
        """Yield the context of the template: the fields, and the other parameters of the URL."""
        in_use = any(self.used_parameters.values())
        yield {
            "inputs": [
                Input(
                    name, label, self.input_type, str(self.used_parameters.get(name, "")) if self.shows_values else ""
                )
                for name, label in self.labels.items()
            ],
            "others": {name: value for name, value in changelist.params.items() if name not in self.labels},
            "clear": changelist.get_query_string(remove=list(self.labels)) if in_use else "",
            "links": list(self.links(changelist)),
        }

    def links(self, changelist: ChangeList) -> Iterator[tuple[str, str]]:
        """Yield the texts and URLs of frequent filters."""
        yield from ()


class TagFilter(InputFilter):
    """A case-insensitive filter by one tag; a script suggests tags while staff type."""

    title = "tag"
    labels = {"tag": "Tag"}

    @property
    def suggestions(self) -> str:
        return str(self.model_admin.tags_url())

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        tag = str(self.used_parameters.get("tag", ""))
        if not tag:
            return queryset
        if "\0" in tag:  # PostgreSQL rejects this character
            return queryset.none()
        return queryset.filter(equals("tag", tag))


class CreatedFilter(InputFilter):
    """A filter by the day of creation (UTC), from one day to another, both included."""

    title = "day of creation (UTC)"
    labels = {"created_from": "From", "created_to": "To"}
    input_type = "date"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        try:
            first, last = (_day(self.used_parameters.get(name)) for name in self.labels)
        except ValueError:
            self.shows_values = False
            self.error = "Write a day as year-month-day, for example 2026-11-21."
            return queryset.none()
        if first and last and first > last:
            self.error = "“From” is after “To”. Exchange the two days."
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


def filters_in_words(query: QueryDict) -> str:
    """Return the search and the filters of a list in words, or an empty string if it shows all pets."""
    value = query.get
    parts = {
        "ID or name starting with “{}”": value("q", "").strip(),
        "status {}": value("status__exact"),
        "tag “{}”": value("tag"),
        "created from {}": value("created_from"),
        "created until {}": value("created_to"),
    }
    return ", ".join(text.format(chosen) for text, chosen in parts.items() if chosen)
