"""The history of accounts: entries in the admin's history and in the audit, whichever page changed the account."""

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.http import HttpRequest, HttpResponse

from petservice.accounts.models import Account
from petservice.audit.model_admin import RecordedChanges
from petservice.audit.models import AuditEntry


class AccountHistory(RecordedChanges):
    """A part of the pages of accounts that records their changes, and shows those of all pages together.

    It deletes no account, because Django would delete the history of an account together with the account.
    """

    addition_kind, change_kind = AuditEntry.Kind.ACCOUNT_ADDED, AuditEntry.Kind.ACCOUNT_CHANGED

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def history_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        types: Sequence[ContentType] = [
            ContentType.objects.get_for_model(model, for_concrete_model=False) for model in (User, Account)
        ]
        entries = LogEntry.objects.filter(object_id=object_id, content_type__in=types)
        pages = self.get_paginator(request, entries.select_related("user").order_by("pk"), 100)
        page = pages.get_page(request.GET.get("p", 1))
        context = {
            "action_list": page,
            "page_range": pages.get_elided_page_range(page.number),
            "pagination_required": pages.num_pages > 1,
        }
        return super().history_view(request, object_id, context | (extra_context or {}))


class AdministratorsOnly(admin.ModelAdmin):
    """A part of the pages that only administrators may use."""

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.is_active and request.user.is_superuser

    has_module_permission = has_add_permission = has_view_permission
    has_change_permission = has_delete_permission = has_view_permission
