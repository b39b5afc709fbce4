"""Lists of the admin that accept no other conditions than those that their pages offer."""

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
    """A mixin that accepts only the conditions of the filters, and says so if a search is too long."""

    # The conditions of the filters, as a URL names them. Others could reveal a secret bit by bit. SQLite fails at an
    # invalid regular expression.
    allowed_lookups: tuple[str, ...] = ()
    show_full_result_count = False  # no page shows it

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return _ChangeList

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        return lookup in self.allowed_lookups
