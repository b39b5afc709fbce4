"""The actions that set, rename and remove the tags of many pets."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import admin
from django.contrib.admin import ModelAdmin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse

from pets.admin.changes import selection as selections
from pets.admin.changes.bulk_changes import change_field
from pets.admin.changes.confirmation import confirmation, selected
from pets.admin.changes.forms import TagInput
from pets.admin.changes.selection import Selection
from pets.admin.lists.changelist import count_of_pets
from pets.admin.lists.filters import filters_in_words, has_tag
from pets.admin.undoable import MAX_UNCONFIRMED
from pets.models import Pet
from pets.models.pet import validate_not_blank
from petservice.admin_pages import bounded_paginator
from petservice.db.lookups import Among
from petservice.folding import fold
from petservice.journal.sentences import quoted

_TOO_MANY = "More than {} have this tag. Nothing was changed. Filter the list, and rename the tag on selected pets."


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

    old_tag = TagField(label="Tag now", help_text="Upper and lower case do not matter.")
    new_tag = TagField()
    all_pets = forms.BooleanField(label="Rename it on all pets, not only on the selected ones", required=False)


@admin.action(description="Set tag…", permissions=["change"])
def set_tag(pages: ModelAdmin, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
    """Ask for a tag, and give it to the selected pets."""
    if (selection := selected(request, queryset)) is None:
        return None
    form = SetTagForm(request.POST if "post" in request.POST else None)
    if form.is_valid():
        return _give(pages, request, selection, dict.fromkeys(selection, form.cleaned_data["new_tag"]))
    pets = count_of_pets(len(selection))
    page = {"question": f"Give one tag to {pets}?", "button": f"Set the tag of {pets}", "form": form}
    return _ask(pages, request, selection, "set_tag", "Set tag", **page)


@admin.action(description="Rename tag…", permissions=["change"])
def rename_tag(pages: ModelAdmin, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
    """Ask for an old and a new tag, and give the new tag to the pets that have the old one."""
    if (selection := selected(request, queryset)) is None:
        return None
    tags = [*filter(None, set(_tags(selection).values()))]
    initial = {"old_tag": tags[0]} if len({fold(tag) for tag in tags}) == 1 else {}
    form = RenameTagForm(request.POST if "post" in request.POST else None, initial=initial)
    if not form.is_valid():
        return _ask_to_rename(pages, request, selection, form)
    return _rename(pages, request, selection, form)


def _rename(pages: ModelAdmin, request: HttpRequest, selection: Selection, form: RenameTagForm) -> HttpResponse | None:
    old, new, chosen = form.cleaned_data["old_tag"], form.cleaned_data["new_tag"], selection
    if form.cleaned_data["all_pets"]:
        all_pets = selections.of_queryset(Pet.objects.filter(has_tag(old)))
        if len(all_pets) > bounded_paginator.MAX_COUNTED:
            form.add_error("all_pets", _TOO_MANY.format(count_of_pets(bounded_paginator.MAX_COUNTED)))
            return _ask_to_rename(pages, request, selection, form)
        if len(all_pets) > MAX_UNCONFIRMED:
            pets, hidden = count_of_pets(len(all_pets)), {"old_tag": old, "new_tag": new}
            question = f"Change the tag of {pets} from {quoted(old)} to {quoted(new)}?"
            page = {"question": question, "button": f"Yes, rename the tag of {pets}", "hidden": hidden}
            return _ask(pages, request, all_pets, "rename_tag", "Rename tag", **page)
        chosen = all_pets
    having = {pk: tag for pk, tag in _tags(chosen).items() if tag and fold(tag) == fold(old)}
    if not having:
        form.add_error("old_tag", "None of these pets has this tag.")
        return _ask_to_rename(pages, request, selection, form)
    # Pets that never had the tag are not compared.
    changed = selections.compare(chosen, ["tag"]).changed
    had = {pet.pk for pet, then in changed.items() if not then or fold(then["tag"] or "") == fold(old)}
    concerned = {pk: version for pk, version in chosen.items() if pk in having or pk in had}
    return _give(pages, request, concerned, dict.fromkeys(having, new))


def _ask_to_rename(pages: ModelAdmin, request: HttpRequest, selection: Selection, form: RenameTagForm) -> HttpResponse:
    question = f"You selected {count_of_pets(len(selection))}. Those with the tag below get the new tag."
    page = {"question": question, "button": "Rename tag", "form": form}
    return _ask(pages, request, selection, "rename_tag", "Rename tag", **page)


@admin.action(description="Remove tag", permissions=["change"])
def remove_tag(pages: ModelAdmin, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
    """Remove the tags of the selected pets, after a confirmation if there are many."""
    if (selection := selected(request, queryset)) is None:
        return None
    count = sum(tag is not None for tag in _tags(selection).values())
    if count <= MAX_UNCONFIRMED or "post" in request.POST:
        return _give(pages, request, selection, dict.fromkeys(selection))
    pets = count_of_pets(count)
    page = {"question": f"Remove the tags of {pets}?", "button": f"Yes, remove the tags of {pets}"}
    return _ask(pages, request, selection, "remove_tag", "Remove tag", **page)


def _give(
    pages: ModelAdmin, request: HttpRequest, selection: Selection, wanted: Mapping[str, str | None]
) -> HttpResponse | None:
    """Change the tags of the pets in `wanted`, and say how many have changed."""
    new = next(iter(wanted.values()), None)

    def summary(pets: str) -> str:
        return f"Tag {quoted(new)} given to {pets}." if new else f"Tag removed from {pets}."

    change_field(pages, request, "tag", wanted, selection, summary, "this tag" if new else "no tag")
    return None


def _ask(
    pages: ModelAdmin, request: HttpRequest, selection: Selection, action: str, title: str, **page: Any
) -> HttpResponse:
    counts = Counter(_tags(selection).values()).most_common(selections.MAX_NAMED + 1)
    tags = [f"{count:,} {quoted(tag) if tag else 'without a tag'}" for tag, count in counts]
    more = ["and others"] if len(tags) > selections.MAX_NAMED else []
    facts = {
        "Filter of the list": filters_in_words(request.GET) or "none",
        "Tags now": ", ".join(tags[: selections.MAX_NAMED] + more),
    }
    return confirmation(pages, request, selection, action=action, title=title, facts=facts, **page)


def _tags(selection: Selection) -> dict[str, str | None]:
    """Return the present tags of the selected pets by their ids."""
    return dict(Pet.objects.filter(Among("pk", [*selection])).values_list("pk", "tag"))
