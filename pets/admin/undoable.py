"""The events of what staff do to pets, and what undoes one.

No other module of the pages records a change of pets, except the undo and the trash.
"""

from collections import ChainMap, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from django.contrib.admin import ModelAdmin
from django.http import HttpRequest
from django.middleware.csrf import get_token
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from pets import trash
from pets.models import Pet
from pets.undo import with_sale, with_versions
from petservice.db.lookups import Among
from petservice.journal import recording
from petservice.journal.models import Event, Item
from petservice.journal.recording import Values, record
from petservice.journal.sentences import changed

Kind = Event.Kind
# Maximum number of pets that change without a confirmation: about what a person can check in the list.
MAX_UNCONFIRMED = 20


class Change(NamedTuple):
    """A pet, and the values of its changed fields before and after; a pet that was added has none before."""

    pet: Pet
    before: Values | None
    after: Values

    @property
    def sentences(self) -> str:
        """Describe the changes of the fields."""
        before = self.before or {}
        return " ".join(changed(name, before[name], value) for name, value in self.after.items())


def record_change(
    request: HttpRequest, kind: Event.Kind, summary: str, changes: Sequence[Change], *permissions: str
) -> Event:
    """Record a change in its transaction. Undoing it needs the permissions.

    The pets have the time of their sale as it was before the change.
    """
    items = [
        recording.Change(pet.pk, pet.name, with_sale(pet, before) if before else None, after)
        for pet, before, after in changes
    ]
    items = with_versions(items)
    kind = _kind(changes) if kind == Kind.CHANGED else kind
    return record(request, kind, target=Pet, message=summary, changes=items, permissions=permissions)


def _kind(changes: Sequence[Change]) -> Event.Kind:
    """Return the kind of a change, by which staff find what was sold."""
    if any(change.after.get("status") == Pet.Status.SOLD for change in changes):
        return Kind.SOLD
    return Kind.STATUS if all({*change.after} == {"status"} for change in changes) else Kind.CHANGED


def delete(request: HttpRequest, pets: Sequence[Pet], summary: str, permission: str) -> Event:
    """Move pets, which the current transaction has locked, into the trash, and record that."""
    changes = trash.delete(pets)
    return record(request, Kind.DELETED, target=Pet, message=summary, changes=changes, permissions=[permission])


def record_export(request: HttpRequest, message: str, count: int) -> None:
    """Record that a member of staff exported pets."""
    record(request, Kind.EXPORTED, target=Pet, message=message, count=count)


def with_undo(pages: ModelAdmin, request: HttpRequest, message: Any, event: Event) -> SafeString:
    """Return a message about a change, with what undoes it: a button, or for many pets a link to a page that asks.

    Both lead back to the list with its present filters.
    """
    filters = pages.get_preserved_filters(request)
    url = reverse("admin:pets_recentchange_change", args=[event.pk]) + (f"?{filters}" if filters else "")
    if event.count > MAX_UNCONFIRMED:
        return format_html('{} <a class="undo" href="{}">Undo</a>', message, url)
    return format_html(
        '{} <form class="undo" method="post" action="{}"><input type="hidden" name="csrfmiddlewaretoken" value="{}">'
        "<button>Undo</button></form>",
        *(message, url, get_token(request)),
    )


def changed_since(versions: Mapping[Pet, int]) -> dict[str, Values]:
    """Return the fields of each pet that changed after a version, with the values of then, by the ids of the pets.

    Pets for which the journal does not name all changes are missing.
    """
    ids = Among("record_id", [pet.pk for pet in versions])
    items = Item.objects.filter(ids, version__isnull=False)  # only pets have versions
    changes: dict[str, dict[int | None, Values]] = defaultdict(dict)
    for pk, version, before in items.order_by("pk").values_list("record_id", "version", "before"):
        changes[pk][version] = before or {}
    found = {}
    for pet, version in versions.items():
        # Each change raised the version by one.
        since = range(version + 1, pet.version + 1)
        if since and all(number in changes[pet.pk] for number in since):
            found[pet.pk] = dict(ChainMap(*(changes[pet.pk][number] for number in since)))
    return found
