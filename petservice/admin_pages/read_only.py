"""Pages of the admin that show records and have no form for them."""

from typing import Any

from django.http import HttpRequest

from petservice.admin_pages.bounded_search import BoundedSearch


class ReadOnlyPages(BoundedSearch):
    """A mixin of pages that add, change and delete no record, and whose lists refuse conditions in the URL."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    has_change_permission = has_delete_permission = has_add_permission
