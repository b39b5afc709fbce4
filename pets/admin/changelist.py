"""The lists of pets, whose cost does not grow with the number of pets."""

from typing import Any

from django import forms
from django.contrib.admin.views.main import SEARCH_VAR, ChangeList, ChangeListSearchForm
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.text import capfirst

from petservice.bounded_paginator import MAX_COUNTED, MoreThan


def count_of_pets(number: int) -> str:
    """Return a number of pets in words."""
    return "1 pet" if number == 1 else f"{number:,} pets"


class StrippedSearchForm(ChangeListSearchForm):
    """A search form that removes white space around the text, because pasted ids and names often have some."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields[SEARCH_VAR] = forms.CharField(required=False)


class PetChangeList(ChangeList):
    """A list with a title of one word, in the order of the admin class, which has an index, not of the URL."""

    search_form_class = StrippedSearchForm

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.title = capfirst(str(self.opts.verbose_name_plural))

    @property
    def can_select_all(self) -> bool:
        """Return whether an action accepts all pets of the list."""
        return not isinstance(self.result_count, MoreThan)

    @property
    def max_selected(self) -> str:
        """Return the maximum number of pets that an action accepts, for a text."""
        return f"{MAX_COUNTED:,}"

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[Any]:
        return list(self.model_admin.get_ordering(request))
