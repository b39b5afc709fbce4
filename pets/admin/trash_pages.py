"""The pages of the trash, where staff put deleted pets back."""

from typing import Any, ClassVar
from uuid import UUID

from django.contrib import admin, messages
from django.contrib.admin.models import DELETION
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html

from pets import history, trash
from pets.admin.bulk_changes import MAX_UNCONFIRMED
from pets.admin.changelist import OrderedList, count_of_pets
from pets.admin.columns import created, created_by_api, status_badge
from pets.admin.confirmation import ConfirmedActions
from pets.admin.deletions import MAX_DELETED
from pets.admin.history_view import PetHistory, entries_of
from pets.admin.selection import Selection, named
from pets.case_insensitive import CaseInsensitive
from pets.fields import OPTIONAL_TEXTS
from pets.models import Pet, TrashedPet
from petservice.admin_pages.bounded_paginator import MAX_COUNTED
from petservice.admin_pages.read_only import ReadOnlyPages
from petservice.api.validators import is_id
from petservice.audit.models import AuditEntry
from petservice.audit.recording import record
from petservice.db.lookups import Among
from petservice.folding import fold
from petservice.time_zone import moment

# Maximum number of entries of the history that the page of a deleted pet shows; its history page shows all.
_MAX_ENTRIES = 100


@admin.register(TrashedPet)
class TrashAdmin(OrderedList, ReadOnlyPages, ConfirmedActions, PetHistory):
    """The pages of deleted pets. Staff who may delete pets put them back; only superusers delete them for good."""

    list_display: Any = ("name", *OPTIONAL_TEXTS, status_badge, "deleted", "deleted_by")
    fields: ClassVar[Any] = (
        "original_id",
        "name",
        *OPTIONAL_TEXTS,
        status_badge,
        created,
        created_by_api,
        "deleted",
        "deleted_by",
    )
    readonly_fields = fields
    search_fields = ("name",)  # shows the search box; get_search_results searches
    search_help_text = "Search by full ID or by the start of a name."
    actions = ("put_back_selected", "delete_for_good")
    change_form_template = "admin/pets/trashedpet/page.html"
    rows_name = "deleted pets"
    sortable_by = ()
    list_per_page = 50

    def get_queryset(self, request: HttpRequest) -> QuerySet[TrashedPet]:
        return TrashedPet.unexpired()

    def get_ordering(self, request: HttpRequest) -> Any:
        """Order search results by name, and the list from the last deleted pet to the first."""
        is_search = bool(request.GET.get("q", "").strip())
        return (CaseInsensitive("name").asc(), "pk") if is_search else ("-deleted_at", "-pk")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        if not search_term:
            return queryset, False
        with_id = TrashedPet.of_pets([search_term.lower()] if is_id(search_term.lower()) else [])
        if with_id.exists():
            return queryset & with_id, False
        # Compared here, because SQLite knows the case of ASCII letters only, and no database that of "ß".
        names, start = queryset.values_list("pk", "name"), fold(search_term)
        return queryset.filter(Among("pk", [pk for pk, name in names if fold(name).startswith(start)])), False

    @admin.display(description="ID")
    def original_id(self, pet: TrashedPet) -> str:
        return pet.original_id

    def pet_id(self, object_id: str) -> str:
        pet = TrashedPet.objects.filter(pk=object_id).first() if is_id(object_id) else None
        return pet.original_id if pet else object_id

    @admin.display(description="deleted")
    def deleted(self, pet: TrashedPet) -> str:
        return moment(pet.deleted_at)

    # Permissions.

    def has_view_permission(self, request: HttpRequest, obj: TrashedPet | None = None) -> bool:
        return request.user.has_perm("pets.view_pet") or request.user.has_perm("pets.change_pet")

    def has_put_back_permission(self, request: HttpRequest) -> bool:
        """Return whether the user may put pets back, which needs the permission to delete pets."""
        return request.user.has_perm("pets.delete_pet")

    def has_delete_for_good_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_active and request.user.is_superuser)

    # Putting back.

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.put_back_view)
        return [path("<uuid:pk>/put-back/", view, name="pets_trashedpet_put_back"), *super().get_urls()]

    def put_back_view(self, request: HttpRequest, pk: UUID) -> HttpResponse:
        """Put one pet back when the form of its page is sent."""
        if not self.has_put_back_permission(request):
            raise PermissionDenied
        if request.method != "POST":  # the login page redirects here without the form
            return HttpResponseRedirect(reverse("admin:pets_trashedpet_change", args=[pk]))
        self._put_back(request, [str(pk)])
        return HttpResponseRedirect(reverse("admin:pets_trashedpet_changelist"))

    @admin.action(description="Put back selected pets", permissions=["put_back"])
    def put_back_selected(self, request: HttpRequest, queryset: QuerySet[TrashedPet]) -> HttpResponse | None:
        """Put the selected pets back, after a confirmation if there are many."""
        if (selection := self.selected(request, queryset, MAX_COUNTED)) is None:
            return None
        if len(selection) > MAX_UNCONFIRMED and "post" not in request.POST:
            pets = count_of_pets(len(selection))
            page = {"title": "Put pets back", "question": f"Put {pets} back?", "button": f"Yes, put {pets} back"}
            return self._ask(request, selection, action="put_back_selected", **page)
        self._put_back(request, [*selection])
        return None

    def _put_back(self, request: HttpRequest, ids: list[str]) -> None:
        with transaction.atomic():
            pets, taken = trash.put_back(ids, user_id=request.user.pk, message="Put back from the trash.")
            if pets:
                target = pets[0] if len(pets) == 1 else Pet
                record(request, AuditEntry.Kind.RESTORED, target=target, message="From the trash.", count=len(pets))
        if taken:
            message = f"A pet with the same ID exists already, so these stay in the trash: {named([*map(str, taken)])}."
            self.message_user(request, message, messages.WARNING)
        gone = len(ids) - len(pets) - len(taken)
        if gone or not ids:
            message = f"{count_of_pets(max(gone, 1))} could not be put back: not in the trash any more."
            self.message_user(request, message, messages.WARNING)
        if len(pets) == 1:
            link = format_html('<a href="{}">{}</a>', reverse("admin:pets_pet_change", args=[pets[0].pk]), pets[0])
            self.message_user(request, format_html("“{}” is back, with all its values.", link), messages.SUCCESS)
        elif pets:
            self.message_user(request, f"{count_of_pets(len(pets))} are back, with all values.", messages.SUCCESS)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show the values and the history of a deleted pet."""
        context = {
            "title": "Deleted pet",
            "entries": entries_of(self.pet_id(object_id)).reverse()[:_MAX_ENTRIES],
            "can_put_back": self.has_put_back_permission(request),
        }
        return super().change_view(request, object_id, form_url, context | (extra_context or {}))

    # Deletion for good.

    @admin.action(description="Delete for good", permissions=["delete_for_good"])
    def delete_for_good(self, request: HttpRequest, queryset: QuerySet[TrashedPet]) -> HttpResponse | None:
        """Delete the selected pets from the trash, after a confirmation that lists them."""
        if (selection := self.selected(request, queryset, MAX_DELETED)) is None:
            return None
        with transaction.atomic():
            pets = list(TrashedPet.unexpired().select_for_update().filter(pk__in=selection).order_by("pk"))
            if "post" in request.POST and pets:
                TrashedPet.objects.filter(pk__in=[pet.pk for pet in pets]).delete()
                deleted = [Pet(pk=pet.original_id, name=pet.name) for pet in pets]
                history.write(request.user.pk, (history.Entry(pet, DELETION, "Deleted for good.") for pet in deleted))
                target = deleted[0] if len(deleted) == 1 else Pet
                message = "Deleted for good, from the trash."
                record(request, AuditEntry.Kind.DELETED, target=target, message=message, count=len(pets))
        if "post" in request.POST or not pets:
            message = f"{count_of_pets(len(pets))} deleted for good." if pets else "These pets are gone already."
            self.message_user(request, message, messages.SUCCESS if pets else messages.INFO)
            return None
        question = f"Delete {count_of_pets(len(pets))} for good? This cannot be undone."
        page = {"title": "Delete for good", "question": question, "button": "Yes, delete for good", "pets": pets}
        return self._ask(request, selection, action="delete_for_good", **page)

    def _ask(self, request: HttpRequest, selection: Selection, **page: Any) -> HttpResponse:
        facts = {"Search": request.GET.get("q", "").strip() or "none"}
        return self.confirmation(request, selection, facts=facts, **page)
