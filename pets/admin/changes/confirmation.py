"""The page that asks before an action on the pets that staff selected in a list."""

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
    advice = "Select fewer and try again" if limit else "Filter the list and try again"
    limit = limit or MAX_COUNTED
    if len(selection) <= limit:
        return selection
    message = f"You selected more than {count_of_pets(limit)}. {advice}. Nothing was changed."
    messages.error(request, message)
    return None


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
