"""Pages of the admin for administrators alone, and pages that show records and have no form for them."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from petservice.admin_pages.bounded_search import BoundedSearch


class AdministratorsOnly(admin.ModelAdmin):
    """A mixin of pages that only administrators may use."""

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(request.user.is_active and request.user.is_superuser)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    has_add_permission = has_change_permission = has_delete_permission = has_view_permission


class ReadOnlyPages(BoundedSearch):
    """A mixin of pages that add, change and delete no record, and whose lists refuse conditions in the URL."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    has_change_permission = has_delete_permission = has_add_permission
