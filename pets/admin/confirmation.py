"""The page that asks before an action on the pets that staff selected in a list."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse

from pets.admin import selection as selections
from pets.admin.changelist import count_of_pets
from pets.admin.selection import Selection
from petservice.admin_pages.bounded_paginator import MAX_COUNTED


class ConfirmedActions(admin.ModelAdmin):
    """A mixin for actions that limit the number of selected pets, and ask before they change many."""

    def selected(self, request: HttpRequest, queryset: QuerySet[Any], limit: int | None = None) -> Selection | None:
        """Return the selected pets, or None after a message if they are more than the limit."""
        selection = selections.read(request, queryset)
        advice = "Select fewer and try again" if limit else "Filter the list and try again"
        limit = limit or MAX_COUNTED
        if len(selection) <= limit:
            return selection
        message = f"You selected more than {count_of_pets(limit)}. {advice}. Nothing was changed."
        self.message_user(request, message, messages.ERROR)
        return None

    def confirmation(self, request: HttpRequest, selection: Selection, **context: Any) -> HttpResponse:
        """Return the page that asks before an action. It sends the selection back with the action's name."""
        context |= self.admin_site.each_context(request) | {
            "opts": self.opts,
            "media": self.media,
            "checkbox_name": ACTION_CHECKBOX_NAME,
            "first_id": next(iter(selection), ""),
            "selection_name": selections.FIELD,
            "selection": selections.as_field(selection),
        }
        return TemplateResponse(request, "admin/pets/confirmation.html", context)
