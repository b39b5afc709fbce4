"""The states of the records in a list of the admin, for a query that is annotated with them."""

from typing import Any

from django.contrib import admin
from django.db.models import TextChoices
from django.http import HttpRequest
from django.utils.html import format_html


class ShownStates(admin.ModelAdmin):
    """A mixin of pages that show the state of each record."""

    states: type[TextChoices]

    @admin.display(description="state")
    def state(self, record: Any) -> str:
        state = self.states(record.state)
        return format_html('<span class="badge badge-{}">{}</span>', state, state.label)


def filter_by(annotation: str, choices: type[TextChoices]) -> type[admin.SimpleListFilter]:
    """Return a filter by the choices with which the query is annotated."""

    class Filter(admin.SimpleListFilter):
        title = parameter_name = annotation

        def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
            return choices.choices

        def queryset(self, request: HttpRequest, queryset: Any) -> Any:
            chosen = self.value()
            return queryset.filter(**{annotation: chosen}) if chosen in choices.values else queryset

    return Filter
