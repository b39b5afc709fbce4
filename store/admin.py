"""The admin's pages of the inventory, in which staff change statuses."""

import re
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.utils.decorators import method_decorator
from django.views.decorators.csrf import csrf_protect

from pets.admin.forms import StatusForm
from pets.admin.pages import PetPages, count_of_pets
from pets.models import Pet
from petservice.api.validators import is_id
from store.models import InventoryItem

# The fields of one row begin with its number.
_ROW = re.compile(r"form-[0-9]+(?=-id$)", re.ASCII)


@admin.register(InventoryItem)
class InventoryItemAdmin(PetPages):
    """See and change the statuses; pets come and go in the pets' own pages."""

    list_editable = ("status",)

    def get_readonly_fields(self, request: HttpRequest, obj: InventoryItem | None = None) -> list[str]:
        """All but the status."""
        return [field for field in self.get_fields(request, obj) if field != "status"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: InventoryItem | None = None) -> bool:
        return False

    # Changing statuses in the list. Django's own way compares nothing with what the list showed, and has others' rows
    # in the places of these once the list has moved on.

    def get_changelist_form(self, request: HttpRequest, **kwargs: Any) -> Any:
        return super().get_changelist_form(request, **{"form": StatusForm} | kwargs)

    @method_decorator(csrf_protect)
    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        if request.method == "POST" and "_save" in request.POST:
            if not self.has_change_permission(request):
                raise PermissionDenied
            self._save_rows(request)
            return HttpResponseRedirect(request.get_full_path())
        return super().changelist_view(request, extra_context)

    def _save_rows(self, request: HttpRequest) -> None:
        """Change the statuses that were chosen, save those that someone else has changed meanwhile, and tell of all."""
        shown, wanted = _chosen(request.POST)
        with transaction.atomic():
            pets = Pet.objects.select_for_update().filter(pk__in=wanted).order_by("pk").in_bulk()
            stale = [
                pet for pet in pets.values() if pet.pk in shown and pet.status not in (shown[pet.pk], wanted[pet.pk])
            ]
            for pet in stale:
                message = f"{pet}: someone else has changed it to {pet.status} meanwhile, so it was left as it is."
                self.message_user(request, message, messages.WARNING)
            if len(pets) < len(wanted):
                message = "Some of the pets that you changed were deleted by someone else meanwhile."
                self.message_user(request, message, messages.WARNING)
            left = wanted.keys() & pets.keys() - {pet.pk for pet in stale}
            changed = self.change_status(request, {pk: wanted[pk] for pk in left})
        if changed:
            self.message_user(request, f"{count_of_pets(len(changed))} changed.", messages.SUCCESS)


def _chosen(post: QueryDict) -> tuple[dict[str, str], dict[str, str]]:
    """By the pet's id, of the rows in which a status was chosen: the one that the list showed, and the chosen one.

    A program that sends no more than it wants to have does not say what the list showed.
    """
    shown, wanted = {}, {}
    for name, pk in post.items():
        row = _ROW.match(name)
        if row and isinstance(pk, str) and is_id(pk):
            before, chosen = post.get(f"initial-{row[0]}-status"), post.get(f"{row[0]}-status", "")
            if chosen != before and chosen in Pet.Status.values:
                wanted[pk] = chosen
                if before is not None:
                    shown[pk] = before
    return shown, wanted
