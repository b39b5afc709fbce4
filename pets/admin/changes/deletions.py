"""The deletion of one or many pets, which moves them into the trash."""

from django.contrib import admin, messages
from django.contrib.admin import ModelAdmin
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from pets import trash
from pets.admin.changes.selection import Selection, as_version, compare, confirmation, selected
from pets.admin.changes.undo_pages import with_undo
from pets.fields import EDITABLE
from pets.models import Pet, TrashedPet
from pets.models.pet import count_of_pets
from pets.permissions import may_see_pets
from petservice.admin_pages.wording import first_names
from petservice.configuration.time_zone import moment
from petservice.db.lookups import Among
from petservice.journal.models import Event
from petservice.journal.recording import record
from petservice.journal.sentences import quoted


@admin.action(description="Delete selected pets", permissions=["delete"])
def delete_selected(pages: ModelAdmin, request: HttpRequest, queryset: QuerySet[Pet]) -> HttpResponse | None:
    """Ask whether to delete the selected pets, and delete them after the confirmation."""
    if (selection := selected(request, queryset)) is None:
        return None
    names = Pet.objects.filter(Among("pk", [*selection])).order_by("pk").values_list("name", flat=True)
    if "post" in request.POST or not names:
        _delete(pages, request, selection)
        return None
    count = count_of_pets(len(names))
    page = {"title": "Delete pets", "button": f"Yes, delete {count}"}
    question = f"Delete {count}? Deleted pets stay in the trash for 30 days."
    facts = {"Pets": first_names([f"“{name}”" for name in names])}
    return confirmation(pages, request, selection, "delete_selected", facts, question=question, **page)


def _delete(pages: ModelAdmin, request: HttpRequest, selection: Selection) -> None:
    """Delete the selected pets that are as shown, and tell the user."""
    with transaction.atomic():
        comparison = compare(selection)
        if pets := comparison.unchanged:
            done = f"“{pets[0]}” deleted." if len(pets) == 1 else f"{count_of_pets(len(pets))} deleted."
            event = record(
                request,
                Event.Kind.DELETED,
                target=Pet,
                message=done,
                changes=trash.delete(pets),
                permissions=["pets.delete_pet"],
            )
    comparison.warn(request, "deleted")
    if pets:
        messages.success(request, with_undo(pages, request, done, event))


def delete_one(pages: ModelAdmin, request: HttpRequest, pet_id: str) -> HttpResponse:
    """Move the pet of a page into the trash, if it is as the page showed it."""
    if not pages.has_delete_permission(request):
        raise PermissionDenied
    _delete(pages, request, {pet_id: as_version(request.POST.get("version", ""))})
    return redirect("admin:pets_pet_changelist")


def deleted_meanwhile(request: HttpRequest, pet_id: str) -> HttpResponse | None:
    """Tell who deleted a pet whose page was opened before, with what was typed there, or return None.

    Leads to the page that puts the pet back, if the user may see it.
    """
    if (gone := TrashedPet.of_pets([pet_id]).first()) is None:
        return None
    event, post = gone.event, request.POST
    text = f"“{gone}” was deleted by {event.account_name}, {moment(event.at)}. It is in the trash."
    typed = [
        f"{name} {quoted(post[name])}"
        for name in EDITABLE
        if name in post and post[name] != post.get(f"initial-{name}")
    ]
    messages.error(request, f"{text} Nothing was saved of what you typed: {', '.join(typed)}." if typed else text)
    if may_see_pets(request.user):
        return redirect("admin:pets_trashedpet_change", gone.pk)
    return redirect("admin:index")
