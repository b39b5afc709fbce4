from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from pets.import_export import PetImportExport
from pets.models import Pet
from petservice.api.pagination import is_id


class PetForm(forms.ModelForm):
    """Name and tag as they are: a form that trims would change what a client sent when staff edit something else."""

    class Meta:
        model = Pet
        fields = ("name", "tag", "status")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("name", "tag"):
            self.fields[name].strip = False  # type: ignore[attr-defined]


class PetSearch(admin.ModelAdmin):
    """Finds pets by what an index can find, however many there are."""

    search_fields = ("name",)  # turns the search box on; get_search_results does the searching
    search_help_text = "An id, or the beginning of a name."
    show_full_result_count = False
    ordering = ("-pk",)  # newest first: ids begin with the time

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        term = search_term.strip()
        if not term:
            return queryset, False
        by_id = Q(pk=term.lower()) if is_id(term.lower()) else Q()
        return queryset.filter(Q(name__istartswith=term) | by_id), False


@admin.register(Pet)
class PetAdmin(PetImportExport, PetSearch):
    """List, find, add, edit and delete pets."""

    form = PetForm
    list_display = ("name", "tag", "status", "created_at", "id")
    list_filter = ("status",)
    readonly_fields = ("id", "created_at")
    fields = ("name", "tag", "status", "id", "created_at")
