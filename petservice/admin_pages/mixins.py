"""Mixins of the pages of several apps: who may use them, how their lists search, and how they show a record."""

from itertools import islice
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet, TextChoices
from django.http import HttpRequest
from django.utils.html import format_html

from petservice.admin_pages.bounded_paginator import MAX_COUNTED, BoundedChangeList, BoundedPaginator
from petservice.db.folding import without_accents


class BoundedSearch(admin.ModelAdmin):
    """A mixin for lists without an index for their search, which accepts only the conditions of the filters."""

    paginator = BoundedPaginator
    show_full_result_count = False  # no page shows it

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Find the rows that have each word of the search in one of their texts, as many as a list counts.

        The words are compared here, because SQLite ignores the case of ASCII letters only.
        """
        if not (words := without_accents(search_term).split()):
            return queryset, False
        rows = queryset.prefetch_related(None).values_list("pk", *self.get_search_fields(request)).iterator()
        # No word has a line break.
        folded = ((pk, without_accents("\n".join(texts))) for pk, *texts in rows)
        found = (pk for pk, text in folded if all(word in text for word in words))
        return queryset.filter(pk__in=[*islice(found, MAX_COUNTED + 1)]), False

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        # Other conditions could reveal a secret bit by bit, and SQLite fails at an invalid regular expression.
        name, _, condition = lookup.partition("__")
        filters = [getattr(one, "parameter_name", one) for one in self.list_filter]
        return name in filters and condition in ("", "exact", "id__exact", "isnull")


class AdministratorsOnly(admin.ModelAdmin):
    """A mixin of pages that only administrators may use."""

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.is_superuser

    has_add_permission = has_change_permission = has_delete_permission = has_view_permission


class ReadOnlyPages(BoundedSearch):
    """A mixin of pages that add, change and delete no record, and whose bounded lists refuse conditions in the URL."""

    sortable_by = ()

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[BoundedChangeList]:
        return BoundedChangeList

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    has_change_permission = has_delete_permission = has_add_permission


class FactsBeside(admin.ModelAdmin):
    """A mixin of pages that show the facts of a record, its read-only fields, next to the fields of its form."""

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        fields, facts = self.get_fields(request, obj), self.get_readonly_fields(request, obj)
        groups: dict[str, list[Any]] = {"fields-to-edit": [], "facts-beside": []}
        for field in fields:
            groups["facts-beside" if field in facts else "fields-to-edit"].append(field)
        return [(None, {"fields": group, "classes": [name]}) for name, group in groups.items() if group]


class AccessPages(admin.ModelAdmin):
    """A mixin of pages of records that give access. Their query is annotated with the State of each."""

    needs_recent_login = True
    show_facets = admin.ShowFacets.ALWAYS

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False  # a record that did something stays, in a state that ends its use

    @admin.display(description="state")
    def state(self, record: Any) -> str:
        state = record.State(record.state)
        return format_html('<span class="badge badge-{}">{}</span>', state, state.label)


def filter_by(annotation: str, choices: type[TextChoices]) -> type[admin.SimpleListFilter]:
    """Return a filter by the choices with which the query is annotated."""

    class Filter(admin.SimpleListFilter):
        title = annotation.replace("_", " ")
        parameter_name = annotation

        def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
            return choices.choices

        def queryset(self, request: HttpRequest, queryset: Any) -> Any:
            chosen = self.value()
            return queryset.filter(**{annotation: chosen}) if chosen in choices.values else queryset

    return Filter
