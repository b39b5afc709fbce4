"""The actions on the selected pets of a list: statuses, tags and deletions, which move pets into the trash.

They leave pets alone that someone else changed after the list was shown.
"""

from collections import Counter
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin import ModelAdmin
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from pets import trash
from pets.admin.changes.forms import TAG_INPUT
from pets.admin.changes.selection import Selection, confirmation, selected, unchanged
from pets.admin.changes.undo_pages import MAX_UNCONFIRMED, with_undo
from pets.models import Pet
from pets.models.pet import count_of_pets, name_or_count, validate_not_blank
from pets.permissions import permission_to_change
from pets.search.case_insensitive import equals_any
from pets.search.tags import same_tag, spellings_in_use
from pets.undo import add_event_of_change, change_of
from petservice.admin_pages.bounded_paginator import MAX_COUNTED
from petservice.admin_pages.wording import first_names
from petservice.journal.models import Event
from petservice.journal.sentences import quoted


def change_field(
    model_admin: ModelAdmin, request: HttpRequest, selection: Selection, field: str, value: str | None
) -> None:
    """Set a field in one transaction with its record, and tell the user what became of the selected pets.

    Pets whose field differs from that of the selection stay as they are, and the user gets a warning.
    """
    with transaction.atomic():
        as_shown = unchanged(request, selection, "changed", {field: value})
        pets = [pet for pet in as_shown if getattr(pet, field) != value]
        changed = name_or_count(pets)
        if field == "status":
            done, has = f"{changed} marked as {value}.", "this status"
        elif value:
            done, has = f"Tag {quoted(value)} given to {changed}.", "this tag"
        else:
            done, has = f"Tag removed from {changed}.", "no tag"
        if pets:
            Pet.objects.filter(pk__in=[pet.pk for pet in pets]).update(**{field: value})
            changes = [change_of(pet, {field: getattr(pet, field)}, {field: value}) for pet in pets]
            permission = permission_to_change(request.user)
            event = add_event_of_change(request, Event.Kind.CHANGED, done, changes, permission)
    others = len(as_shown) - len(pets)
    had = f"{count_of_pets(others)} had {has} already."
    if pets:
        messages.success(request, with_undo(model_admin, request, f"{done} {had}" if others else done, event))
    elif others:
        messages.info(request, f"Nothing was changed: {had}")


def _present(selection: Selection, field: str) -> "Counter[str | None]":
    """Return the present values of a field of the selected pets, with the number of pets that have each."""
    return Counter(Pet.objects.filter(pk__in=[*selection]).values_list(field, flat=True))


def _marking_as(status: Pet.Status) -> Any:
    """Return the admin action that sets the status of the selected pets, after a confirmation if there are many."""
    new = status.label.lower()

    @admin.action(description=f"Mark as {new}", permissions=["change"])
    def mark(model_admin: ModelAdmin, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        if (selection := selected(request, queryset)) is None:
            return None
        counts = _present(selection, "status")
        already = counts.pop(status.value, 0)
        if counts.total() <= MAX_UNCONFIRMED or "post" in request.POST:
            change_field(model_admin, request, selection, "status", status.value)
            return None
        facts = {"Status now": ", ".join(f"{count:,} {one}" for one, count in sorted(counts.items()))}
        if already:
            facts[f"Already {new}"] = count_of_pets(already)
        pets = count_of_pets(counts.total())
        page = {"title": f"Mark as {new}", "question": f"Mark {pets} as {new}?", "button": f"Yes, mark {pets} as {new}"}
        return confirmation(model_admin, request, selection, mark.__name__, facts, **page)

    mark.__name__ = f"mark_as_{status}"
    return mark


STATUS_ACTIONS = [*map(_marking_as, Pet.Status)]


class SetTagForm(forms.Form):
    """A form for the new tag of the selected pets, with the rules of the API."""

    new_tag: Any = Pet._meta.get_field("tag").formfield(
        label="New tag",
        strip=False,
        validators=[validate_not_blank],
        widget=TAG_INPUT,
        help_text="Leave it empty to remove the tags.",
    )


@admin.action(description="Set tag…", permissions=["edit"])
def set_tag(model_admin: ModelAdmin, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
    """Ask for a tag, and give it to the selected pets, or to all that have one of its spellings."""
    merged = request.POST.get("spellings_of", "").replace("\0", "")
    if merged:  # the filter by a tag finds also those with other accents
        spellings = [tag for tag in spellings_in_use(merged) if same_tag(tag) == same_tag(merged)]
        queryset = Pet.objects.filter(equals_any("tag", spellings))
        if queryset[MAX_COUNTED : MAX_COUNTED + 1].exists():  # leave out those that need no change
            queryset = queryset.exclude(tag=merged)
    if (selection := selected(request, queryset)) is None:
        return None
    form = SetTagForm(request.POST if "post" in request.POST else None, initial=request.POST.dict())
    if form.is_valid():
        change_field(model_admin, request, selection, "tag", form.cleaned_data["new_tag"])
        return None
    pets = count_of_pets(len(selection))
    counts = _present(selection, "tag").most_common()
    tags = [f"{count:,} {quoted(tag) if tag else 'without a tag'}" for tag, count in counts]
    page = {"title": "Set tag", "question": f"Give one tag to {pets}?", "button": f"Set the tag of {pets}"}
    return confirmation(model_admin, request, selection, "set_tag", {"Tags now": first_names(tags)}, form=form, **page)


@admin.action(description="Delete selected pets", permissions=["delete"])
def delete_selected(model_admin: ModelAdmin, request: HttpRequest, queryset: QuerySet[Pet]) -> HttpResponse | None:
    """Ask whether to delete the selected pets, and delete them after the confirmation."""
    if (selection := selected(request, queryset)) is None:
        return None
    if "post" not in request.POST and (present := Pet.objects.filter(pk__in=[*selection]).order_by("pk")):
        count = count_of_pets(len(present))
        page: dict[str, Any] = {"title": "Delete pets", "button": f"Yes, delete {count}"}
        question = f"Delete {count}? Deleted pets stay in the trash for 30 days."
        facts = {"Pets": first_names([f"“{pet}”" for pet in present])}
        if len(present) == 1:  # several pets may have its name
            page |= {"original": present[0], "title": "Delete pet"}
            tag = quoted(present[0].tag) if present[0].tag else "none"
            facts = {"Pet": facts["Pets"], "Tag": tag, "Status": present[0].get_status_display()}
        return confirmation(model_admin, request, selection, "delete_selected", facts, question=question, **page)
    with transaction.atomic():
        if pets := unchanged(request, selection, "deleted"):
            done = f"{name_or_count(pets)} deleted."
            event = add_event_of_change(request, Event.Kind.DELETED, done, trash.delete(pets), "pets.delete_pet")
    if pets:
        messages.success(request, with_undo(model_admin, request, done, event))
    return None
