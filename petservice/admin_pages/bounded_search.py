"""A search of lists in the admin that accepts no more text than a person types."""

from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin.views.main import SEARCH_VAR, ChangeList, ChangeListSearchForm
from django.http import HttpRequest

# Maximum length of a search in characters. Each word is a condition, and SQLite refuses a thousand of them.
MAX_LENGTH = 255


class _SearchForm(ChangeListSearchForm):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        too_long = f"The list shows everything, because the search was longer than {MAX_LENGTH} characters. Shorten it."
        self.fields[SEARCH_VAR] = forms.CharField(
            required=False, strip=False, max_length=MAX_LENGTH, error_messages={"max_length": too_long}
        )


class _ChangeList(ChangeList):
    search_form_class = _SearchForm


class BoundedSearch(admin.ModelAdmin):
    """A mixin that says so if a search is too long, in place of searching for each word."""

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return _ChangeList
