"""The records of what staff do to pets: the audit, the histories of the pets, and what an undo needs.

No other module of the pages writes them.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from django.contrib.admin.models import ADDITION, CHANGE, DELETION
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from pets import history, trash, undo
from pets.models import ChangeSet, Pet
from petservice.audit.models import AuditEntry
from petservice.audit.recording import record

Kind = ChangeSet.Kind


class Change(NamedTuple):
    """A pet, and the values of its changed fields before and after; a pet that was added has none before."""

    pet: Pet
    before: undo.Values | None
    after: undo.Values

    @property
    def sentences(self) -> str:
        """Describe the changes of the fields."""
        before = self.before or {}
        return " ".join(history.change(name, before[name], value) for name, value in self.after.items())


def record_change(
    request: HttpRequest, kind: Kind, summary: str, changes: Sequence[Change], *permissions: str
) -> ChangeSet:
    """Record a change in its transaction. Undoing it needs the permissions."""
    history.write(request.user.pk, (_entry(kind, change) for change in changes))
    pet = changes[0].pet if len(changes) == 1 else None
    record(request, AuditEntry.Kind(kind.value), target=pet or Pet, message=summary, count=len(changes))
    return undo.record(
        kind=kind,
        summary=summary,
        changes=[undo.Change(pet.pk, before, after) for pet, before, after in changes],
        owner_id=request.user.pk,
        permissions=" ".join(permissions),
    )


def _entry(kind: Kind, change: Change) -> history.Entry:
    if change.before is None:
        return history.Entry(change.pet, ADDITION, "Imported.")
    prefix = "Imported: " if kind == Kind.IMPORTED else ""
    return history.Entry(change.pet, CHANGE, prefix + change.sentences)


def delete(request: HttpRequest, pets: Sequence[Pet], summary: str, permission: str) -> ChangeSet:
    """Move pets, which the current transaction has locked, into the trash, and record that."""
    now = timezone.now()
    trash.move(pets, deleted_by=request.user.get_username(), now=now)
    history.write(request.user.pk, (history.Entry(pet, DELETION, "Deleted.") for pet in pets))
    pet = pets[0] if len(pets) == 1 else None
    record(request, AuditEntry.Kind.DELETED, target=pet or Pet, message=summary, count=len(pets))
    return undo.record(
        kind=Kind.DELETED,
        summary=summary,
        changes=[*map(undo.deletion, pets)],
        owner_id=request.user.pk,
        permissions=permission,
        now=now,
    )


def record_addition(request: HttpRequest, pet: Pet) -> None:
    """Record that a member of staff added a pet."""
    history.write(request.user.pk, [history.Entry(pet, ADDITION, "Added.")])
    record(request, AuditEntry.Kind.ADDED, target=pet, message="Added.")


def record_export(request: HttpRequest, message: str, count: int) -> None:
    """Record that a member of staff exported pets."""
    record(request, AuditEntry.Kind.EXPORTED, target=Pet, message=message, count=count)


def with_undo_link(message: Any, change_set: ChangeSet) -> SafeString:
    """Return a message about a change, with the link that undoes it."""
    url = reverse("admin:pets_changeset_change", args=[change_set.pk])
    return format_html('{} <a class="undo" href="{}">Undo</a>', message, url)
