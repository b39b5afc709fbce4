"""The page of the admin with all pets of a list on it, for paper."""

from typing import Any

from django.contrib.admin import ModelAdmin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from pets.admin.lists.changelist import count_of_pets
from pets.admin.lists.filters import filters_in_words
from pets.admin.undoable import record_export
from pets.permissions import may_see_pets

# Maximum number of pets on the page: about 20 sheets of paper.
MAX_PRINTED = 1000


def print_view(pages: ModelAdmin, request: HttpRequest) -> HttpResponse:
    """Show the pets of a list on one page, without the parts that only a screen needs."""
    if not may_see_pets(request.user):
        raise PermissionDenied
    changelist: Any = pages.get_changelist_instance(request)
    pets, filters = [*changelist.queryset[:MAX_PRINTED]], filters_in_words(request.GET)
    record_export(request, f"Printed. Filter: {filters or 'none'}.", len(pets))
    context = pages.admin_site.each_context(request) | {
        "title": "Pets",
        "opts": pages.opts,
        "pets": pets,
        "count": count_of_pets(changelist.result_count),
        "is_cut": changelist.result_count > MAX_PRINTED,
        "max_printed": MAX_PRINTED,
        "filters": filters,
        "list_query": changelist.get_query_string(),
    }
    return TemplateResponse(request, "admin/pets/pet/print.html", context)
