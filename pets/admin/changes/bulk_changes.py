"""Changes of the status or the tag of many pets: the actions, and what they have in common.

They leave pets alone that someone else changed after the list was shown.
"""

from collections import Counter
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin import ModelAdmin
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict

from pets.admin.changes.forms import TagInput
from pets.admin.changes.selection import Selection, compare, confirmation, of_queryset, selected
from pets.admin.changes.undo_pages import MAX_UNCONFIRMED, with_undo
from pets.admin.lists.changelist import count_of_pets
from pets.admin.lists.filters import filters_in_words
from pets.models import Pet
from pets.models.pet import validate_not_blank
from pets.permissions import permission_to_change
from pets.search.case_insensitive import equals_any
from pets.search.tags import same_tag, spellings_in_use
from pets.undo import change_of, record_change
from petservice.admin_pages.bounded_paginator import MAX_COUNTED
from petservice.admin_pages.wording import first_names
from petservice.db.lookups import Among
from petservice.journal.models import Event
from petservice.journal.sentences import quoted


def change_field(pages: ModelAdmin, request: HttpRequest, selection: Selection, field: str, value: str | None) -> None:
    """Set a field in one transaction with its record, and tell the user what became of the selected pets.

    Pets whose field differs from that of the selection stay as they are, and the user gets a warning.
    """
    with transaction.atomic():
        comparison = compare(selection, [field], {field: value}, lock=True)
        pets = [pet for pet in comparison.unchanged if getattr(pet, field) != value]
        count = count_of_pets(len(pets))
        if field == "status":
            done, has = f"{count} marked as {value}.", "this status"
        elif value:
            done, has = f"Tag {quoted(value)} given to {count}.", "this tag"
        else:
            done, has = f"Tag removed from {count}.", "no tag"
        if pets:
            Pet.objects.filter(Among("pk", [pet.pk for pet in pets])).update(**{field: value})
            changes = [change_of(pet, {field: getattr(pet, field)}, {field: value}) for pet in pets]
            permission = permission_to_change(request.user)
            event = record_change(request, Event.Kind.CHANGED, done, changes, permission)
    comparison.warn(request, "changed")
    others = len(comparison.unchanged) - len(pets)
    had = f"{count_of_pets(others)} had {has} already."
    if pets:
        messages.success(request, with_undo(pages, request, f"{done} {had}" if others else done, event))
    elif others or not (comparison.changed or comparison.deleted):
        messages.info(request, f"Nothing was changed: {had}" if others else "Nothing was changed.")


# Statuses.


def _marking_as(status: Pet.Status) -> Any:
    """Return the admin action that sets the status of the selected pets, after a confirmation if there are many."""
    new = status.label.lower()

    @admin.action(description=f"Mark as {new}", permissions=["change"])
    def mark(pages: ModelAdmin, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        if (selection := selected(request, queryset)) is None:
            return None
        if "post" not in request.POST:
            comparison = compare(selection, ["status"], {"status": status.value})
            shown = comparison.unchanged
            counts = Counter(pet.status for pet in shown if pet.status != status)
            if counts.total() > MAX_UNCONFIRMED:
                comparison.warn(request, "selected")
                facts = {
                    "Filter of the list": filters_in_words(request.GET) or "none",
                    "Status now": ", ".join(f"{count:,} {one}" for one, count in sorted(counts.items())),
                }
                if already := len(shown) - counts.total():
                    facts[f"Already {new}"] = count_of_pets(already)
                return confirmation(
                    pages,
                    request,
                    {pet.pk: pet.version for pet in shown},
                    action=f"mark_as_{status}",
                    title=f"Mark as {new}",
                    question=f"Mark {count_of_pets(counts.total())} as {new}?",
                    facts=facts,
                    button=f"Yes, mark {count_of_pets(counts.total())} as {new}",
                )
        change_field(pages, request, selection, "status", status.value)
        return None

    mark.__name__ = f"mark_as_{status}"
    return mark


STATUS_ACTIONS = [*map(_marking_as, Pet.Status)]


# Tags.


class TagField(forms.CharField):
    """A tag, with the rules of the API."""

    widget = TagInput

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=255, strip=False, validators=[validate_not_blank], **kwargs)


class SetTagForm(forms.Form):
    """A form for the new tag of the selected pets."""

    new_tag = TagField()


class RenameTagForm(forms.Form):
    """A form for a tag and the tag that replaces it."""

    old_tag = TagField(label="Tag now", help_text="Upper and lower case and blanks do not matter.")
    new_tag = TagField()
    all_pets = forms.BooleanField(label="Rename it on all pets, not only on the selected ones", required=False)

    def __init__(self, selection: Selection, post: QueryDict) -> None:
        """Create a form for these pets. Before it is sent itself, other pages may fill it in by their own."""
        tags = [*filter(None, set(_present_tags(selection).values()))]
        initial: dict[str, Any] = {"old_tag": tags[0]} if len({same_tag(tag) for tag in tags}) == 1 else {}
        initial |= {name: post[name] for name in self.base_fields if name in post}
        super().__init__(post if "post" in post else None, initial=initial)
        self.chosen = selection

    def clean(self) -> None:
        """Find the pets that get the new tag (having) among the selected ones, or among all pets (chosen)."""
        old = self.cleaned_data.get("old_tag")
        if self.errors or old is None:
            return
        if self.cleaned_data["all_pets"]:
            spellings = [tag for tag in spellings_in_use(old) if same_tag(tag) == same_tag(old)]
            self.chosen = of_queryset(Pet.objects.filter(equals_any("tag", spellings)))
            if len(self.chosen) > MAX_COUNTED:
                self.add_error(
                    "all_pets",
                    f"More than {count_of_pets(MAX_COUNTED)} have this tag. Nothing was changed. Filter the list, and "
                    "rename the tag on selected pets.",
                )
                return
        self.having = [pk for pk, tag in _present_tags(self.chosen).items() if tag and same_tag(tag) == same_tag(old)]
        if not self.having:
            self.add_error("old_tag", "None of these pets has this tag.")


@admin.action(description="Set tag…", permissions=["edit"])
def set_tag(pages: ModelAdmin, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
    """Ask for a tag, and give it to the selected pets."""
    if (selection := selected(request, queryset)) is None:
        return None
    form = SetTagForm(request.POST if "post" in request.POST else None)
    if form.is_valid():
        change_field(pages, request, selection, "tag", form.cleaned_data["new_tag"])
        return None
    pets = count_of_pets(len(selection))
    page = {"question": f"Give one tag to {pets}?", "button": f"Set the tag of {pets}", "form": form}
    return _ask(pages, request, selection, "set_tag", "Set tag", **page)


@admin.action(description="Rename tag…", permissions=["edit"])
def rename_tag(pages: ModelAdmin, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
    """Ask for an old and a new tag, and give the new tag to the pets that have the old one."""
    if (selection := selected(request, queryset)) is None:
        return None
    form = RenameTagForm(selection, request.POST)
    if not form.is_valid():
        pets = "All pets" if form.initial.get("all_pets") else f"You selected {count_of_pets(len(selection))}. Those"
        page = {"question": f"{pets} with the tag below get the new tag.", "button": "Rename tag", "form": form}
        return _ask(pages, request, selection, "rename_tag", "Rename tag", **page)
    old, new, chosen = form.cleaned_data["old_tag"], form.cleaned_data["new_tag"], form.chosen
    if form.cleaned_data["all_pets"] and len(chosen) > MAX_UNCONFIRMED:
        pets, hidden = count_of_pets(len(chosen)), {"old_tag": old, "new_tag": new}
        question = f"Change the tag of {pets} from {quoted(old)} to {quoted(new)}?"
        page = {"question": question, "button": f"Yes, rename the tag of {pets}", "hidden": hidden}
        return _ask(pages, request, chosen, "rename_tag", "Rename tag", **page)
    # Pets that never had the tag are not compared.
    changed = compare(chosen, ["tag"]).changed
    had = {pet.pk for pet, then in changed.items() if not then or same_tag(then["tag"] or "") == same_tag(old)}
    concerned = {pk: version for pk, version in chosen.items() if pk in had or pk in form.having}
    change_field(pages, request, concerned, "tag", new)
    return None


@admin.action(description="Remove tag", permissions=["edit"])
def remove_tag(pages: ModelAdmin, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
    """Remove the tags of the selected pets, after a confirmation if there are many."""
    if (selection := selected(request, queryset)) is None:
        return None
    count = sum(tag is not None for tag in _present_tags(selection).values())
    if count <= MAX_UNCONFIRMED or "post" in request.POST:
        change_field(pages, request, selection, "tag", None)
        return None
    pets = count_of_pets(count)
    page = {"question": f"Remove the tags of {pets}?", "button": f"Yes, remove the tags of {pets}"}
    return _ask(pages, request, selection, "remove_tag", "Remove tag", **page)


def _ask(
    pages: ModelAdmin, request: HttpRequest, selection: Selection, action: str, title: str, **page: Any
) -> HttpResponse:
    counts = Counter(_present_tags(selection).values()).most_common()
    tags = [f"{count:,} {quoted(tag) if tag else 'without a tag'}" for tag, count in counts]
    facts = {
        "Filter of the list": filters_in_words(request.GET) or "none",
        "Tags now": first_names(tags),
    }
    return confirmation(pages, request, selection, action=action, title=title, facts=facts if tags else {}, **page)


def _present_tags(selection: Selection) -> dict[str, str | None]:
    """Return the present tags of the selected pets by their ids."""
    return dict(Pet.objects.filter(Among("pk", [*selection])).values_list("pk", "tag"))
