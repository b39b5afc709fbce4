"""The deletion of one or many pets, which moves them into the trash."""

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from pets.admin import selection as selections
from pets.admin.bulk_changes import BulkChanges
from pets.admin.changelist import count_of_pets
from pets.admin.filters import filters_in_words
from pets.admin.selection import Selection
from pets.admin.undoable import delete, with_undo_link
from pets.models import Pet

# Maximum number of pets that can be deleted together, because the confirmation page lists all of them.
MAX_DELETED = 500


class Deletions(BulkChanges):
    """A mixin of the deletion of pets."""

    @admin.action(description="Delete selected pets", permissions=["delete"])
    def delete_selected(self, request: HttpRequest, queryset: QuerySet[Pet]) -> HttpResponse | None:
        """Ask whether to delete the selected pets, and delete them after the confirmation."""
        if (selection := self.selected(request, queryset, MAX_DELETED)) is None:
            return None
        if "post" in request.POST:
            self._delete_pets(request, selection)
            return None
        comparison = selections.compare(selection)
        self.warn(request, comparison, "selected")
        pets = comparison.unchanged
        if not pets:
            return None
        return self.confirmation(
            request,
            {pet.pk: pet.version for pet in pets},
            action="delete_selected",
            title="Delete pets",
            question=f"Delete {count_of_pets(len(pets))}? Deleted pets stay in the trash for 30 days.",
            button=f"Yes, delete {count_of_pets(len(pets))}",
            facts={"Filter of the list": filters_in_words(request.GET) or "none"},
            pets=pets,
        )

    def _delete_pets(self, request: HttpRequest, selection: Selection) -> bool:
        """Delete the selected pets that are as shown, and say so. Return whether one or more were deleted."""
        with transaction.atomic():
            comparison = selections.compare(selection, lock=True)
            pets = comparison.unchanged
            done = f"“{pets[0]}” deleted." if len(pets) == 1 else f"{count_of_pets(len(pets))} deleted."
            event = delete(request, pets, done, self.permission("delete")) if pets else None
        self.warn(request, comparison, "deleted")
        if event:
            self.message_user(request, with_undo_link(done, event), messages.SUCCESS)
        return bool(pets)

    # The page that deletes one pet.

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """Show the page that asks, and move the pet into the trash when its form is sent, if it is as shown."""
        if request.method != "POST" or not Pet.objects.filter(pk=object_id).exists():
            return super().delete_view(request, object_id, extra_context)
        if not self.has_delete_permission(request):
            raise PermissionDenied
        if self._delete_pets(request, {object_id: selections.as_version(request.POST.get("version", ""))}):
            return HttpResponseRedirect(reverse("admin:pets_pet_changelist"))
        self.message_user(request, "Check the pet, and then confirm again.", messages.WARNING)
        return HttpResponseRedirect(request.get_full_path())
