"""The pages of the trash, where staff put deleted pets back."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.html import format_html
from django.utils.safestring import SafeString

from pets import trash
from pets.admin.changes.selection import CHECKBOX, within_limit
from pets.admin.lists.columns import created_by_api, status_badge
from pets.models import Pet, TrashedPet
from pets.models.pet import count_of_pets
from pets.permissions import may_see_pets
from petservice.admin_pages.bounded_paginator import MAX_COUNTED
from petservice.admin_pages.mixins import ReadOnlyPages
from petservice.admin_pages.wording import first_names
from petservice.configuration.time_zone import moment
from petservice.db.folding import fold, without_accents
from petservice.journal.models import Event
from petservice.journal.record_pages import history_of, page_of
from petservice.journal.recording import add_event, type_of

# Maximum number of words that a search compares. No name has as many, and SQLite rejects a thousand conditions.
_MAX_WORDS = 255


@admin.register(TrashedPet)
class TrashAdmin(ReadOnlyPages):
    """The pages of deleted pets. Staff who may delete pets put them back."""

    list_display: Any = ("record_name", "tag", "status", "deleted", "deleted_by")
    fields = ("record_id", "record_name", "tag", "status", "created", "created_by", "deleted", "deleted_by")
    readonly_fields = fields
    search_fields = ("folded_name",)
    search_help_text = "Search by ID or by parts of a name."
    ordering = ("-in_trash_until", "-pk")
    actions = ("put_back_selected",)
    rows_name = "deleted pets"
    empty_list = "The trash is empty. A deleted pet stays here for 30 days, and can be put back."
    list_per_page = 50

    def action_checkbox(self, trashed: TrashedPet) -> SafeString:
        return format_html(CHECKBOX, ACTION_CHECKBOX_NAME, trashed.pk, trashed.record_name)

    def tag(self, trashed: TrashedPet) -> str:
        return trashed.pet.tag or self.get_empty_value_display()

    def status(self, trashed: TrashedPet) -> str:
        return status_badge(trashed.pet)

    def created(self, trashed: TrashedPet) -> str:
        return moment(trashed.pet.created_at)

    def created_by(self, trashed: TrashedPet) -> str:
        return created_by_api(trashed.pet)

    def deleted(self, trashed: TrashedPet) -> str:
        return moment(trashed.event.at)

    def deleted_by(self, trashed: TrashedPet) -> str:
        return trashed.event.account_name

    def get_search_results(self, request: HttpRequest, queryset: QuerySet[Any], search_term: str) -> Any:
        """Find a pet by its ID, by the index of records, or else by parts of its name, which reads the names of all."""
        with_id = queryset.filter(record_id=search_term.strip().lower())
        if with_id.exists():
            return with_id, False
        words = {*fold(search_term).split()}
        if len(words) > _MAX_WORDS:
            return queryset.none(), False
        # Earlier versions, which may still run during an upgrade, kept accents, or folded no names.
        either = (
            Q(folded_name__contains=without_accents(word))
            | Q(folded_name__contains=word)
            | Q(folded_name=None, record_name__icontains=word)
            for word in words
        )
        return queryset.filter(*either), False

    # Permissions.

    def has_view_permission(self, request: HttpRequest, obj: TrashedPet | None = None) -> bool:
        return may_see_pets(request.user)

    def has_put_back_permission(self, request: HttpRequest) -> bool:
        """Return whether the user may put pets back, which needs the permission to delete pets."""
        return request.user.has_perm("pets.delete_pet")

    # Putting back.

    @admin.action(description="Put back selected pets", permissions=["put_back"])
    def put_back_selected(self, request: HttpRequest, queryset: QuerySet[TrashedPet]) -> HttpResponse | None:
        """Put the selected pets back."""
        keys = [*queryset.values_list("pk", flat=True)[: MAX_COUNTED + 1]]
        chosen = max(len(keys), len(request.POST.getlist(ACTION_CHECKBOX_NAME)))
        if not within_limit(request, keys):
            return None
        with transaction.atomic():
            back, taken = trash.put_back(keys)
            if back:
                message = f"{count_of_pets(len(back))} from the trash."
                add_event(request, Event.Kind.RESTORED, target=Pet, message=message, changes=back)
        if taken:
            names = first_names([f"“{trashed}”" for trashed in taken])
            message = f"A pet with the same ID exists already, so these stay in the trash: {names}."
            self.message_user(request, message, messages.WARNING)
        if gone := chosen - len(back) - len(taken):
            message = f"{count_of_pets(gone)} could not be put back: not in the trash any more."
            self.message_user(request, message, messages.WARNING)
        if back:
            names = first_names([f"“{change.record_name}”" for change in back])
            self.message_user(request, f"Put back with all values: {names}.", messages.SUCCESS)
        return None

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show the values and the history of a deleted pet."""
        trashed = self.get_object(request, object_id)
        if trashed is None and self.has_view_permission(request):  # Django would guess that the pet was deleted
            text = "This pet is not in the trash any more: it was put back, or deleted more than 30 days ago."
            self.message_user(request, text, messages.WARNING)
            return redirect("admin:pets_trashedpet_changelist")
        history = history_of(type_of(Pet), trashed.record_id) if trashed else TrashedPet.objects.none()
        can_put_back = self.has_put_back_permission(request)
        context = page_of(request, history) | {"title": "Deleted pet", "can_put_back": can_put_back}
        return super().change_view(request, object_id, form_url, context | (extra_context or {}))

    history_view: Any = change_view  # which shows the history
