"""The filters of the lists of pets, in the page and in words."""

from abc import ABC, abstractmethod
from datetime import date, timedelta
from typing import Any, NamedTuple

from django.contrib.admin import ListFilter
from django.db.models import Q, QuerySet
from django.http import HttpRequest, QueryDict
from django.utils import timezone

from pets import creator
from pets.admin.narrowing import Condition
from pets.admin.tag_suggestions import spellings_in_use
from pets.case_insensitive import CaseInsensitive, equals, has_one_spelling, is_absent
from pets.models import Pet
from petservice.time_zone import in_days

_NOTHING = Condition(())


class Field(NamedTuple):
    """A field of a filter, as the template needs it."""

    name: str
    label: str
    type: str
    value: str
    choices: tuple[tuple[str, str], ...] = ()  # of a select: value and text
    suggestions: str = ""  # the URL of suggestions


class PetFilter(ListFilter, ABC):
    """A filter of one or more fields above the list. An invalid value shows an error and an empty list."""

    labels: dict[str, str]  # by the parameters of the URL
    error = ""

    def __init__(self, request: HttpRequest, params: dict[str, list[str]], model: Any, model_admin: Any) -> None:
        super().__init__(request, params, model, model_admin)
        for name in self.labels:
            if name in params:
                self.used_parameters[name] = params.pop(name)[-1]
        self.model_admin = model_admin
        self.condition = self._condition() if any(self.used_parameters.values()) else None

    def value(self, name: str) -> str:
        """Return the value of a parameter, or an empty text."""
        return str(self.used_parameters.get(name, ""))

    def has_output(self) -> bool:
        return True

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Return the queryset as it is, because the list applies all conditions together (pets.admin.narrowing)."""
        return queryset

    @abstractmethod
    def fields(self) -> list[Field]:
        """Return the fields of the form."""

    def links(self) -> list[tuple[str, dict[str, str]]]:
        """Return the texts and the parameters of frequent filters."""
        return []

    @abstractmethod
    def _condition(self) -> Condition:
        """Return the condition of the values, at least one of which is not empty."""

    def _reject(self, error: str) -> Condition:
        self.error = error
        return _NOTHING


class _ChoiceFilter(PetFilter):
    """A filter with one choice of several."""

    options: tuple[tuple[str, str], ...]

    def fields(self) -> list[Field]:
        ((name, label),) = self.labels.items()
        return [Field(name, label, "select", self.value(name), (("", "Any"), *self.options))]

    def _condition(self) -> Condition:
        (name,) = self.labels
        if self.value(name) not in dict(self.options):
            return self._reject(f"“{self.value(name)}” is not known here. Choose one from the list.")
        return self._chosen(self.value(name))

    @abstractmethod
    def _chosen(self, value: str) -> Condition:
        """Return the condition of a choice."""


class StatusFilter(_ChoiceFilter):
    """A filter by the status."""

    title = "status"
    labels = {"status__exact": "Status"}
    options = tuple((status.value, status.label) for status in Pet.Status)

    def _chosen(self, value: str) -> Condition:
        return Condition((Q(status=value),))


class CreatorFilter(_ChoiceFilter):
    """A filter by the kind of creator."""

    title = "creator"
    labels = {"creator": "Created by"}
    options = tuple((kind, text) for kind, (text, _) in creator.KINDS.items())

    def _chosen(self, value: str) -> Condition:
        column = creator.KindOfCreator("created_by")
        return Condition((creator.is_of_kind(value),), null_column=column if value == "unknown" else None)


class TagFilter(PetFilter):
    """A case-insensitive filter by one tag, or for pets without one; a script suggests tags while staff type."""

    title = "tag"
    labels = {"tag": "Tag", "no_tag": "No tag"}

    def fields(self) -> list[Field]:
        return [
            Field("tag", "Tag", "text", self.value("tag"), suggestions=self.model_admin.tags_url()),
            Field("no_tag", "No tag", "checkbox", self.value("no_tag")),
        ]

    def _condition(self) -> Condition:
        tag = self.value("tag")
        if not tag:
            return Condition((is_absent("tag"),), null_column=CaseInsensitive("tag"))
        if self.value("no_tag"):
            return self._reject("A pet with this tag has a tag. Clear the tag, or untick “No tag”.")
        if "\0" in tag:  # PostgreSQL rejects this character
            return _NOTHING
        return has_tag(tag)


def has_tag(tag: str) -> Condition:
    """Return the condition that a pet has this tag, in any case."""
    # SQLite finds the pets of one spelling in the order of days, but not those of several together.
    spellings = [tag] if has_one_spelling(tag) else spellings_in_use(tag)
    return Condition(tuple(equals("tag", spelling) for spelling in spellings))


class CreatedFilter(PetFilter):
    """A filter by the day of creation in the store's time zone, from one day to another, both included."""

    title = "day of creation"
    labels = {"created_from": "Created from", "created_to": "Created to"}

    def fields(self) -> list[Field]:
        return [
            # Browsers reject a value that is no day.
            Field(name, label, "date", self.value(name) if _is_day(self.value(name)) else "")
            for name, label in self.labels.items()
        ]

    def links(self) -> list[tuple[str, dict[str, str]]]:
        today = timezone.localdate()
        return [
            (text, {"created_from": str(today - timedelta(days=days - 1)), "created_to": str(today)})
            for text, days in (("Today", 1), ("Last 7 days", 7), ("Last 30 days", 30))
        ]

    def _condition(self) -> Condition:
        try:
            first, last = (_day(self.value(name)) for name in self.labels)
        except ValueError:
            return self._reject("Write a day as year-month-day, for example 2026-11-21.")
        if first and last and first > last:
            return self._reject("“From” is after “To”. Exchange the two days.")
        return Condition((in_days("created_at", first, last),), is_period=True)


def _day(text: str) -> date | None:
    return date.fromisoformat(text) if text else None


def _is_day(text: str) -> bool:
    try:
        return bool(_day(text))
    except ValueError:
        return False


FILTERS: tuple[type[PetFilter], ...] = (StatusFilter, TagFilter, CreatorFilter, CreatedFilter)
# The parameters of all filters in a URL.
PARAMETERS = tuple(name for each in FILTERS for name in each.labels)


def filters_in_words(query: QueryDict) -> str:
    """Return the search and the filters of a list in words, or an empty string if it shows all pets."""
    value = query.get
    kind, _ = creator.KINDS.get(value("creator") or "", (value("creator"), None))
    parts = {
        "search “{}”": value("q", "").strip(),
        "status {}": value("status__exact"),
        "tag “{}”": value("tag"),
        "no tag{}": " " if value("no_tag") else "",
        "created by {}": kind,
        "created from {}": value("created_from"),
        "created until {}": value("created_to"),
    }
    return ", ".join(text.format(chosen).strip() for text, chosen in parts.items() if chosen)
