"""The parts that the pages of all records have from the journal: their entries in it, and the page of a history."""

from typing import Any

from django.contrib import admin, messages
from django.db import connection
from django.db.models import Exists, F, OuterRef, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect

from petservice.admin_pages.bounded_paginator import BoundedPaginator
from petservice.admin_pages.staff_page import staff_page
from petservice.journal.models import Event, Item
from petservice.journal.recording import add_event, type_of
from petservice.journal.sentences import changes_of_form

_PER_PAGE = 100


def history_of(record_type: str, record_id: str) -> QuerySet[Item]:
    """Return what happened to a record, newest first, also after its end."""
    items = Item.objects.filter(record_id=record_id, event__record_type=record_type)
    is_undone = Exists(items.filter(event=OuterRef("event__undone_by")))  # unless the undo left the record alone
    return items.annotate(is_undone=is_undone).select_related("event__undone_by").order_by("-event__at", "-event_id")


class JournalPages(admin.ModelAdmin):
    """A mixin that locks the record of a MergingForm, and writes what it does into the journal in place of Django's.

    A form that was saved without a change is not recorded, and the person gets a message. Pages whose changes need
    more than a message record them by themselves, for example a change of many pets.
    """

    addition_kind, change_kind = Event.Kind.ADDED, Event.Kind.CHANGED

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """Return a record, or None. A form locks it until its transaction ends, and changes the latest values."""
        record = super().get_object(request, object_id, from_field)
        if record is not None and request.method == "POST" and connection.in_atomic_block:
            # Others may refer to it meanwhile, for example a client to its key.
            list(self.model._base_manager.select_for_update(no_key=True).filter(pk=record.pk))
            record = super().get_object(request, object_id, from_field)
        return record

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Save the rest of a form, and tell the person which changes of others it has kept."""
        super().save_related(request, form, formsets, change)
        if form.kept:
            self.message_user(request, form.kept_changes, messages.WARNING)

    def construct_change_message(self, request: HttpRequest, form: Any, formsets: Any, add: bool = False) -> Any:
        return "Added." if add else changes_of_form(form)

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        return add_event(request, self.addition_kind, target=obj, message=message)

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        request.has_changes = bool(message)  # type: ignore[attr-defined]  # our own attribute
        return add_event(request, self.change_kind, target=obj, message=message) if message else None

    def response_change(self, request: HttpRequest, obj: Any) -> HttpResponse:
        if request.has_changes:  # type: ignore[attr-defined]  # set by log_change
            return super().response_change(request, obj)
        self.message_user(request, f"You changed nothing, so “{obj}” is as before.", messages.INFO)
        if "_continue" in request.POST:
            return HttpResponseRedirect(request.get_full_path())
        return self.response_post_save_change(request, obj)

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        return [add_event(request, Event.Kind.DELETED, target=obj, message="Deleted.") for obj in queryset]

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """Show what happened to a record on all pages, newest first, also after its end."""
        obj, record_type = self.get_object(request, object_id), type_of(self.model)
        items = history_of(record_type, object_id)
        last = items.first()
        if obj is None and last is None:
            raise Http404
        context = page_of(request, items) | {
            "opts": self.opts,
            "original": obj,
            "record_name": obj or last,
            "record_type": record_type,
            "record_id": object_id,
        }
        return staff_page(request, "admin/journal/history.html", f"Change history: {obj or last}", context)


def items_of(event: Event) -> QuerySet[Item]:
    """Return the records of an event, in the order in which they were recorded."""
    # Not by the key alone, because PostgreSQL may walk the items of all events if most events have many.
    return event.items.select_related("event").order_by(F("pk") + 0)


def page_of(request: HttpRequest, rows: QuerySet[Any]) -> dict[str, Any]:
    """Return the page of rows that a request asks for, and the numbers of the pages to link to, for a template."""
    paginator = BoundedPaginator(rows, _PER_PAGE)
    page = paginator.get_page(request.GET.get("p"))
    return {"page": page, "page_range": paginator.get_elided_page_range(page.number)}
