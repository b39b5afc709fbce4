"""Lists of the admin that search in any script, and accept no other conditions than those that their pages offer."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from petservice.db.folding import fold


class BoundedSearch(admin.ModelAdmin):
    """A mixin for lists of few rows, which accepts only the conditions of the filters."""

    # The conditions of the filters, as a URL names them. Others could reveal a secret bit by bit. SQLite fails at an
    # invalid regular expression.
    allowed_lookups: tuple[str, ...] = ()
    show_full_result_count = False  # no page shows it

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Find the rows that have each word of the search in one of their texts.

        The words are compared here, because SQLite knows the case of ASCII letters only.
        """
        if not (words := fold(search_term).split()):
            return queryset, False
        found = []
        for pk, *texts in queryset.values_list("pk", *self.get_search_fields(request)):
            folded = [fold(text) for text in texts]
            if all(any(word in text for text in folded) for word in words):
                found.append(pk)
        return queryset.filter(pk__in=found), False

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        return lookup in self.allowed_lookups
