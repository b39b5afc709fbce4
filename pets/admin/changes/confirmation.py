"""The page that asks before an action on the pets that staff selected in a list."""

from collections.abc import Sized
from typing import Any

from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from pets.admin.changes import selection as selections
from pets.admin.changes.selection import Selection
from pets.admin.lists.changelist import count_of_pets
from petservice.admin_pages.bounded_paginator import MAX_COUNTED


def selected(request: HttpRequest, queryset: QuerySet[Any], limit: int | None = None) -> Selection | None:
    """Return the selected pets, or None after a message if they are more than the limit."""
    selection = selections.read(request, queryset)
    if limit:
        return selection if within_limit(request, selection, limit) else None
    return selection if within_limit(request, selection, MAX_COUNTED, "Filter the list") else None


def within_limit(request: HttpRequest, selection: Sized, limit: int, advice: str = "Select fewer") -> bool:
    """Return whether the selected pets are at most as many as the limit, or tell the user what to do."""
    if len(selection) <= limit:
        return True
    messages.error(
        request, f"You selected more than {count_of_pets(limit)}. {advice} and try again. Nothing was changed."
    )
    return False


def confirmation(pages: ModelAdmin, request: HttpRequest, selection: Selection, **context: Any) -> HttpResponse:
    """Return the page that asks before an action. It sends the selection back with the action's name."""
    context |= pages.admin_site.each_context(request) | {
        "opts": pages.opts,
        "media": pages.media,
        "checkbox_name": ACTION_CHECKBOX_NAME,
        "first_id": next(iter(selection), ""),
        "selection_name": selections.FIELD,
        "selection": selections.as_field(selection),
    }
    return TemplateResponse(request, "admin/pets/confirmation.html", context)
