"""The pages of the inventory in the admin, where staff change statuses."""

import re
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict

from pets.admin.changes.bulk_changes import change_field
from pets.admin.changes.forms import StatusForm
from pets.admin.changes.selection import Selection, version_in
from pets.admin.pages import PetPages
from pets.models import Pet
from petservice.api.validators import is_id
from store.models import InventoryItem

# The names of the fields of one row begin with the number of the row.
_ROW = re.compile(r"form-[0-9]+(?=-id$)", re.ASCII)


@admin.register(InventoryItem)
class InventoryItemAdmin(PetPages):
    """The pages that show pets and change their statuses; the pages of pets add and delete pets."""

    row_name, rows_name = "pet", "pets"
    introduction = "The same pets as under Pets. Choose other statuses in the rows, and save them together."
    list_editable = ("status",)

    def get_readonly_fields(self, request: HttpRequest, obj: InventoryItem | None = None) -> list[str]:
        """Return all fields except the status."""
        return [field for field in self.get_fields(request, obj) if field != "status"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: InventoryItem | None = None) -> bool:
        return False

    # Changes of statuses in the list. Django does not compare them with the statuses that the list showed. It would
    # also change the wrong rows if the list has changed since.

    def get_changelist_form(self, request: HttpRequest, **kwargs: Any) -> Any:
        return super().get_changelist_form(request, **{"form": StatusForm} | kwargs)

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        if request.method == "POST" and "_save" in request.POST:
            if not self.has_change_permission(request):
                raise PermissionDenied
            self._save_rows(request)
            return HttpResponseRedirect(request.get_full_path())
        return super().changelist_view(request, extra_context)

    def _save_rows(self, request: HttpRequest) -> None:
        """Change the chosen statuses, except those of pets that someone else has changed since the list was shown."""
        change_field(self, request, "status", *_chosen(request.POST), "Statuses of {} changed.".format, "this status")


def _chosen(post: QueryDict) -> tuple[dict[str, str | None], Selection]:
    """Return the new statuses of the pets whose status was changed, and the versions that the list showed.

    Programs may omit the hidden fields with the status and the version that the list showed.
    """
    wanted: dict[str, str | None] = {}
    selection: Selection = {}
    for name, pk in post.items():
        row = _ROW.match(name)
        if row and isinstance(pk, str) and is_id(pk):
            shown, chosen = post.get(f"initial-{row[0]}-status", ""), post.get(f"{row[0]}-status", "")
            if chosen != shown and chosen in Pet.Status.values:
                wanted[pk] = chosen
                selection[pk] = version_in(post, pk)
    return wanted, selection
