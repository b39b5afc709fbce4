"""The filters of the lists of pets, in the page and in words."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib.admin.views.main import SEARCH_VAR
from django.db.models import Q
from django.utils.functional import cached_property

from pets import creator
from pets.models import Pet
from pets.search.case_insensitive import equals_any, is_absent
from pets.search.tags import spellings_in_use
from petservice.admin_pages.filter_form import DayField, FilterForm
from petservice.configuration.time_zone import in_days

# The names of the fields of each filter.
STATUS, TAG, CREATOR = ("status__exact",), ("tag", "no_tag"), ("creator",)
CREATED_DAYS, SOLD_DAYS = ("created_from", "created_to"), ("sold_from", "sold_to")

_ANY = ("", "Any")
_CREATORS = [(kind, text) for kind, (text, _) in creator.KINDS.items()]


class PetFilterForm(FilterForm):
    """A form of the filters above a list. Its fields have the names of the parameters of the URL."""

    status__exact = forms.ChoiceField(label="Status", required=False, choices=[_ANY, *Pet.Status.choices])
    tag = forms.CharField(required=False, widget=forms.TextInput({"data-suggestions": "tags/", "autocomplete": "off"}))
    no_tag = forms.BooleanField(label="No tag", required=False, widget=forms.CheckboxInput({"value": "1"}))
    creator = forms.ChoiceField(label="Created by", required=False, choices=[_ANY, *_CREATORS])
    created_from = DayField()
    created_to = DayField()
    sold_from = DayField()
    sold_to = DayField()

    def clean(self) -> None:
        super().clean()
        value = self.cleaned_data.get
        if value("tag") and value("no_tag"):
            self.add_error("tag", "A pet with this tag has a tag. Clear the tag, or untick “No tag”.")

    @cached_property
    def spellings(self) -> list[str]:
        """Return the spellings in use of the tag, each letter of which costs a query."""
        tag = self.cleaned_data.get("tag")
        return spellings_in_use(tag) if tag else []

    def conditions(self) -> dict[tuple[str, ...], Q]:
        """Return the condition of each filter in use by its fields, or of all if one is invalid, which no pet fits."""
        if not self.is_valid():
            return {PARAMETERS: Q(pk__in=[])}
        value = self.cleaned_data.get
        found: dict[tuple[str, ...], Q] = {}
        if status := value("status__exact"):
            found[STATUS] = Q(status=status)
        if value("no_tag"):
            found[TAG] = is_absent("tag")
        elif value("tag"):
            found[TAG] = equals_any("tag", self.spellings)
        if kind := value("creator"):
            found[CREATOR] = creator.is_of_kind(kind)
        if value("created_from") or value("created_to"):
            found[CREATED_DAYS] = in_days("created_at", value("created_from"), value("created_to"))
        if value("sold_from") or value("sold_to"):
            days = in_days("sold_at", value("sold_from"), value("sold_to"))
            found[SOLD_DAYS] = Q(status=Pet.Status.SOLD) & Q(sold_at__isnull=False) & days
        return found

    def words(self) -> list[str]:
        """Return the values of filters in use that the search on SQLite has in addition to words."""
        value = self.cleaned_data.get
        _, kind = creator.KINDS.get(value("creator") or "", (None, None))
        sold = any(map(value, SOLD_DAYS)) and Pet.Status.SOLD.value
        in_use = filter(None, (value("status__exact"), sold, kind, value("no_tag") and "untagged"))
        return [*dict.fromkeys(in_use)]  # once, if it is the status of both

    def excluded_words(self) -> list[str]:
        """Return those of these values that no pet of the list has: the kinds of creators, if it must be unknown."""
        kinds = [beginning for _, beginning in creator.KINDS.values() if beginning]
        return kinds if self.cleaned_data.get("creator") == "unknown" else []


# The parameters of all filters in a URL.
PARAMETERS = tuple(PetFilterForm.base_fields)


def filters_in_words(query: Mapping[str, Any]) -> str:
    """Return the search and the filters of a list in words, or an empty string if it shows all pets."""
    search, filters = query.get(SEARCH_VAR, "").strip(), PetFilterForm(query).in_words()
    return ", ".join(filter(None, (search and f"Search “{search}”", filters)))
