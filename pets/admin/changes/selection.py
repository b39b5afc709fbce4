"""The pets that staff select in a list, with the versions that it showed: read, confirmed, and compared with now."""

from collections.abc import Mapping, Sized
from typing import Any

from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.core.exceptions import BadRequest
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from pets.admin.lists.filters import filters_in_words
from pets.fields import EDITABLE
from pets.models import Pet
from pets.models.pet import count_of_pets
from pets.undo import changed_since
from petservice.admin_pages.bounded_paginator import MAX_COUNTED
from petservice.admin_pages.staff_page import staff_page
from petservice.admin_pages.wording import first_names
from petservice.api.validators import is_id, is_integer
from petservice.journal.sentences import quoted

# The field of lists, menus and confirmation pages that holds pets with the versions that they show. A confirmation page
# has one field for all pets, because Django limits the number of fields.
FIELD = "selection"
# Django's own checkbox, whose template would take a tenth of the time of a list. Browsers that restore ticks after Back
# restore them by position, and another pet may be there now.
CHECKBOX = (
    '<input type="checkbox" name="{}" value="{}" class="action-select" autocomplete="off" '
    'aria-label="Select this object for an action - {}">'
)

# The versions of the selected pets that the user saw, by their ids.
Selection = dict[str, int]


def checkbox(pet: Pet) -> SafeString:
    """Return the checkbox of a row, with the version of the pet."""
    return format_html(CHECKBOX, FIELD, f"{pet.pk}:{pet.version}", pet.name)


def selected(request: HttpRequest, queryset: QuerySet[Any]) -> Selection | None:
    """Return the pets that the user selected, with the versions that the page showed.

    The queryset adds the pets of the other pages if all pets of a list are selected. It has the pets of a page that
    asks. Returns None after a message if there are none, or more than MAX_COUNTED.
    """
    selection: Selection = {}
    for text in " ".join(request.POST.getlist(FIELD)).split():
        pk, _, version = text.partition(":")
        if not (is_id(pk) and is_integer(version)):
            raise BadRequest("The selection of pets is invalid.")
        selection[pk] = int(version)
    if request.method != "POST" or request.POST.get("select_across", "0") not in ("", "0"):
        selection = dict(queryset.values_list("pk", "version")[: MAX_COUNTED + 1]) | selection
    if not selection:
        messages.info(request, "No such pets were found. Nothing was changed.")
    return selection if selection and within_limit(request, selection) else None


def within_limit(request: HttpRequest, selection: Sized) -> bool:
    """Return whether the selected pets are at most MAX_COUNTED, or tell the user what to do."""
    is_within = len(selection) <= MAX_COUNTED
    if not is_within:
        many = f"You selected more than {count_of_pets(MAX_COUNTED)}."
        messages.error(request, f"{many} Filter the list, and do it in several parts. Nothing was changed.")
    return is_within


def confirmation(
    model_admin: ModelAdmin,
    request: HttpRequest,
    selection: Selection,
    action: str,
    facts: dict[str, str],
    *,
    title: str,
    **page: Any,
) -> HttpResponse:
    """Return the page that asks before an action. It sends the selection back with the action's name."""
    filters = filters_in_words(request.GET)
    page |= {
        "opts": model_admin.opts,
        "media": model_admin.media,
        "selection": " ".join(f"{pk}:{version}" for pk, version in selection.items()),
        "action": action,
        "facts": ({"Filter of the list": filters} if filters else {}) | facts,
    }
    return staff_page(request, "admin/pets/confirmation.html", title, page)


def unchanged(
    request: HttpRequest,
    selection: Selection,
    verb: str,
    wanted: Mapping[str, str | None] | None = None,
) -> list[Pet]:
    """Return the selected pets that are as the list showed them, and lock them until the transaction ends.

    Tells the user which pets someone else deleted or changed, and that they were not treated as `verb` says. `wanted`
    has the new values. Then only changes of these fields count, and not those that gave a pet the same values.
    """
    pets = list(Pet.objects.select_for_update().filter(pk__in=[*selection]).order_by("pk"))
    others = {pet: selection[pet.pk] for pet in pets if selection[pet.pk] != pet.version}
    values = changed_since(others) if others else {}
    changed = {}
    for pet in others:
        then = values.get(pet.pk)
        known = [name for name in wanted or EDITABLE if name in then] if then else []
        is_as_wanted = wanted and all(getattr(pet, name) == value for name, value in wanted.items())
        if (then is None or known) and not is_as_wanted:
            now = ", ".join(f"{name} {quoted(getattr(pet, name))}" for name in known)
            changed[pet] = f"“{pet}” ({now})" if now else f"“{pet}”"
    names = f": {first_names([*changed.values()])}"
    for count, what, which in ((len(changed), "changed", names), (len(selection) - len(pets), "deleted", "")):
        were, them = ("was", "it") if count == 1 else ("were", "them")
        reason = f"because someone else {what} {them} in the meantime"
        if count:
            messages.warning(request, f"{count_of_pets(count)} {were} not {verb}, {reason}{which}.")
    return [pet for pet in pets if pet not in changed]
