"""The read-only pages of the audit in the admin, for administrators."""

from codecs import BOM_UTF8
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from django.contrib import admin, messages
from django.contrib.auth import get_user_model
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils import timezone

from petservice.admin_pages.csv_files import escape, parts
from petservice.admin_pages.mixins import AdministratorsOnly, ReadOnlyPages
from petservice.admin_pages.staff_page import staff_page
from petservice.journal.event_filters import EventFilterForm
from petservice.journal.models import Event, EventQuerySet
from petservice.journal.record_pages import items_of, page_of
from petservice.journal.recording import COMMAND, add_event

# Maximum number of events of a file, which the server sends as a whole: about 20 MB, made in a few seconds.
MAX_EXPORTED = 100_000
_COLUMNS = ("at", "kind", "account_name", "address", "record_type", "record_id", "record_name", "count", "message")
_HEADER = ("time", "kind", "person", "address", "record type", "record ID", "record", "number", "message")
# Number of rows of a file that the database sends together.
_BATCH = 2000


@admin.register(Event)
class EventAdmin(ReadOnlyPages, AdministratorsOnly):
    """The audit: the list of all events with filters, the page of one event with its records, and the export."""

    def get_urls(self) -> list[URLPattern]:
        export = self.admin_site.admin_view(self.export_view)
        return [path("export/", export, name="journal_event_export"), *super().get_urls()]

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Show the events that pass the filters, newest first."""
        form = EventFilterForm(request.GET, label_suffix="")
        paged = page_of(request, form.events())
        users = get_user_model().objects.order_by("username").values_list("username", flat=True)
        events = Event.objects.filter(pk__in=[event.pk for event in paged["page"]]).select_related("undone_by")
        context = paged | {
            "opts": self.opts,
            "form": form,
            "events": events.with_record(),
            "max_exported": MAX_EXPORTED,
            "persons": [COMMAND, *users],
            "yesterday": timezone.localdate() - timedelta(days=1),
        }
        return staff_page(request, "admin/journal/event/change_list.html", "Audit", context)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show one event with its records."""
        event = self.get_object(request, object_id)
        if event is None:
            raise Http404
        context = page_of(request, items_of(event)) | {"opts": self.opts, "event": event}
        return staff_page(request, "admin/journal/event/page.html", str(event)[:100], context)

    def export_view(self, request: HttpRequest) -> HttpResponse:
        """Send the filtered events as a CSV file, after the export itself is in the audit."""
        if request.method != "POST":  # after a login, for example
            return HttpResponseRedirect(reverse("admin:journal_event_changelist", query=request.GET))
        form = EventFilterForm(request.GET)
        count = form.events()[: MAX_EXPORTED + 1].values("pk").count()
        if count > MAX_EXPORTED or not form.is_valid():
            text = f"Nothing was exported: correct the filters, and choose days with at most {MAX_EXPORTED:,} events."
            self.message_user(request, text, messages.ERROR)
            return HttpResponseRedirect(reverse("admin:journal_event_changelist", query=request.GET))
        message = f"Audit exported as CSV. Filter: {form.in_words() or 'none'}."
        export = add_event(request, Event.Kind.EXPORTED, target=Event, message=message, count=count)
        events = form.events().filter(pk__lt=export.pk)
        content = [BOM_UTF8, *parts(_HEADER, _rows(events))]
        response = HttpResponse(content, content_type="text/csv; charset=utf-8")
        response.headers["Content-Disposition"] = f'attachment; filename="audit-{timezone.localdate()}.csv"'
        return response


def _rows(events: EventQuerySet) -> Iterator[list[Any]]:
    """Yield the rows of a CSV file."""
    for at, *others in events.with_record().values_list(*_COLUMNS).iterator(chunk_size=_BATCH):
        yield [at.isoformat(timespec="seconds"), *(escape(cell) if isinstance(cell, str) else cell for cell in others)]
