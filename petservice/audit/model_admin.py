"""Parts of admin pages that record additions, changes and deletions in the audit.

Pages whose changes need more than these record them by themselves, for example a change of many pets.
"""

from typing import Any

from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.db.models import Model
from django.http import HttpRequest

from petservice.admin_pages.unchanged_form import UnchangedForm
from petservice.audit.models import AuditEntry
from petservice.audit.recording import record

# Maximum number of deleted records that an entry names, so that it stays readable.
_MAX_NAMED = 20


class RecordedAdditions(admin.ModelAdmin):
    """A mixin that records additions."""

    addition_kind = AuditEntry.Kind.ADDED

    def log_addition(self, request: HttpRequest, obj: Model, message: Any) -> LogEntry:
        entry: LogEntry = super().log_addition(request, obj, message)
        record(request, self.addition_kind, target=obj, message=entry.get_change_message())
        return entry


class RecordedChanges(UnchangedForm, RecordedAdditions):
    """A mixin that records additions, changes and deletions, where the deletion of many records is one entry."""

    change_kind = AuditEntry.Kind.CHANGED

    def log_change(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        entry: LogEntry | None = super().log_change(request, obj, message)
        if entry is not None:
            record(request, self.change_kind, target=obj, message=entry.get_change_message())
        return entry

    def log_deletions(self, request: HttpRequest, queryset: Any) -> list[LogEntry]:
        deleted = list(queryset)
        target = deleted[0] if len(deleted) == 1 else self.model
        names = ", ".join(f"“{one}”" for one in deleted[:_MAX_NAMED])
        more = f" and {len(deleted) - _MAX_NAMED:,} more" if len(deleted) > _MAX_NAMED else ""
        record(request, AuditEntry.Kind.DELETED, target=target, message=f"Deleted: {names}{more}.", count=len(deleted))
        entries: list[LogEntry] = super().log_deletions(request, queryset)
        return entries
