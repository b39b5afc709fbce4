"""The read-only pages of the audit in the admin, for administrators."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.views.decorators.csrf import csrf_protect
from django.views.decorators.http import require_safe

from petservice.admin_pages.bounded_paginator import MAX_COUNTED, BoundedPaginator, MoreThan
from petservice.admin_pages.read_only import ReadOnlyPages
from petservice.admin_pages.staff_page import staff_page
from petservice.audit.export import CSVExport
from petservice.audit.filters import FilterForm, record_types
from petservice.audit.models import AuditEntry
from petservice.audit.recording import COMMAND, record
from petservice.db.backend import backend

_PER_PAGE = 100
# Maximum number of entries of a file, which the server sends as a whole: about 20 MB, made in a few seconds. The
# command export_audit has no limit.
MAX_EXPORTED = 100_000
# Maximum number of account names that the filter suggests: more than a shop has.
_MAX_SUGGESTIONS = 500


@admin.register(AuditEntry)
class AuditAdmin(ReadOnlyPages):
    """The list of the audit's entries with filters, the page of one entry, and the export."""

    def has_view_permission(self, request: HttpRequest, obj: AuditEntry | None = None) -> bool:
        return bool(request.user.is_active and request.user.is_superuser)

    def get_urls(self) -> list[URLPattern]:
        export = self.admin_site.admin_view(csrf_protect(self.export_view))
        return [path("export/", export, name="audit_auditentry_export"), *super().get_urls()]

    @method_decorator(require_safe)
    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """Show the entries that pass the filters, newest first."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        form = FilterForm(request.GET, label_suffix="")
        paginator = BoundedPaginator(form.entries(), _PER_PAGE)
        page = paginator.get_page(request.GET.get("p"))
        users = get_user_model().objects.order_by("username").values_list("username", flat=True)
        filters = {name: value for name, value in request.GET.items() if name in form.fields and value}
        context = {
            "opts": self.opts,
            "form": form,
            "filters": filters,
            "page": page,
            "page_range": paginator.get_elided_page_range(page.number),
            "has_more": isinstance(paginator.count, MoreThan),
            "max_counted": MAX_COUNTED,
            "max_exported": MAX_EXPORTED,
            "record_types": record_types(),
            "persons": [COMMAND, *users[:_MAX_SUGGESTIONS]],
        }
        return staff_page(request, "admin/audit/auditentry/change_list.html", "Audit", context)

    def export_view(self, request: HttpRequest) -> HttpResponse:
        """Send the filtered entries as a CSV file, after the export itself is in the audit."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        form = FilterForm(request.POST)
        if request.method != "POST" or not form.is_valid():
            return HttpResponseRedirect(reverse("admin:audit_auditentry_changelist"))
        count = form.entries()[: MAX_EXPORTED + 1].values("pk").count()
        if count > MAX_EXPORTED:
            text = (
                f"Nothing was exported: this page exports at most {MAX_EXPORTED:,} entries. Choose fewer days and try "
                "again, or ask the operator of the service for a file of the command export_audit, which has no limit."
            )
            self.message_user(request, text, messages.ERROR)
            query = request.POST.copy()
            query.pop("csrfmiddlewaretoken", None)
            return HttpResponseRedirect(f"{reverse('admin:audit_auditentry_changelist')}?{query.urlencode()}")
        newest = AuditEntry.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
        message = f"Audit exported as CSV. Filter: {form.in_words() or 'none'}."
        record(request, AuditEntry.Kind.EXPORTED, target=AuditEntry, message=message, count=count)
        entries = form.entries().filter(pk__lte=newest)  # without the entry of this export
        with backend().read_consistently():
            response = HttpResponse(CSVExport(entries).parts(), content_type="text/csv; charset=utf-8")
        response.headers["Content-Disposition"] = f'attachment; filename="audit-{timezone.localdate()}.csv"'
        return response
