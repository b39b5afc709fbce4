"""The page with the history of a pet, which includes the changes on all pages."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from pets.models import Pet
from petservice.api.validators import is_id


def entries_of(pet_id: str) -> QuerySet[LogEntry]:
    """Return the history of the pet with this id, oldest first, also of a pet that was deleted."""
    pk = pet_id if is_id(pet_id) else None  # PostgreSQL accepts no other text
    entries = LogEntry.objects.filter(object_id=pk, content_type=ContentType.objects.get_for_model(Pet))
    return entries.select_related("user").order_by("pk")


class PetHistory(admin.ModelAdmin):
    """A mixin of the page with the history of a pet."""

    def pet_id(self, object_id: str) -> str:
        """Return the id of the pet whose history a page shows."""
        return object_id

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        pages = self.get_paginator(request, entries_of(self.pet_id(object_id)), 100)
        page = pages.get_page(request.GET.get("p", 1))
        context = {
            "action_list": page,
            "page_range": pages.get_elided_page_range(page.number),
            "pagination_required": pages.num_pages > 1,
        }
        return super().history_view(request, object_id, context | (extra_context or {}))
