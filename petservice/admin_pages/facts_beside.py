"""Pages of the admin that show the facts of a record beside the fields of its form."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest


class FactsBeside(admin.ModelAdmin):
    """A mixin of pages whose read-only fields are a group of their own."""

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        fields, facts = self.get_fields(request, obj), self.get_readonly_fields(request, obj)
        groups: dict[str, list[Any]] = {"fields-to-edit": [], "facts-beside": []}
        for field in fields:
            groups["facts-beside" if field in facts else "fields-to-edit"].append(field)
        return [(None, {"fields": group, "classes": [name]}) for name, group in groups.items() if group]
