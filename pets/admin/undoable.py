"""The link with which staff undo the change that they have just made."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from pets import undo
from pets.admin.changelist import count_of_pets
from pets.fields import EDITABLE
from pets.files.import_diff import RowChange
from pets.models import ChangeSet, Pet
from petservice.audit.models import AuditEntry
from petservice.audit.recording import record

# The attribute of a request that holds the change that its message offers to undo.
_CHANGE_SET = "_petservice_change_set"


class UndoableChanges(admin.ModelAdmin):
    """A mixin that records changes of pets, and adds *Undo* to the message about them."""

    def record_change(
        self,
        request: HttpRequest,
        kind: ChangeSet.Kind,
        summary: str,
        changes: Sequence[undo.Change],
        *,
        pet: Pet | None = None,
        permissions: Sequence[str] = (),
        now: datetime | None = None,
    ) -> None:
        """Record a change in the audit, and so that it can be undone, in the transaction of the change.

        `pet` is the pet of a change of a single one. The default of `permissions` is that for the kind of change.
        """
        verb = "delete" if kind == ChangeSet.Kind.DELETED else "change"
        default = f"{self.opts.app_label}.{verb}_{self.opts.model_name}"
        change_set = undo.record(
            kind=kind,
            summary=summary,
            changes=changes,
            owner_id=request.user.pk,
            permissions=" ".join(permissions or [default]),
            now=now,
        )
        record(request, AuditEntry.Kind(kind.value), target=pet or Pet, message=summary, count=len(changes))
        setattr(request, _CHANGE_SET, change_set)

    def record_import(self, request: HttpRequest, rows: Sequence[RowChange]) -> None:
        """Record an import, unless it has changed nothing."""
        changed = [row for row in rows if row.changed_fields]
        if changed:
            added = [row.before for row in changed].count(None)
            summary = f"Import: {count_of_pets(added)} added, {len(changed) - added:,} changed."
            permissions = ("pets.add_pet", "pets.change_pet")
            changes, pet = [*map(_imported, changed)], changed[0].after if len(changed) == 1 else None
            self.record_change(request, ChangeSet.Kind.IMPORTED, summary, changes, pet=pet, permissions=permissions)

    def message_user(
        self,
        request: HttpRequest,
        message: Any,
        level: int | str = messages.INFO,
        extra_tags: str = "",
        fail_silently: bool = False,
    ) -> None:
        change_set = getattr(request, _CHANGE_SET, None)
        if level == messages.SUCCESS and change_set is not None:
            url = reverse("admin:pets_changeset_change", args=[change_set.pk])
            message = format_html('{} <a class="undo" href="{}">Undo</a>', message, url)
        super().message_user(request, message, level, extra_tags, fail_silently)


def _imported(row: RowChange) -> undo.Change:
    if row.before is None:
        return undo.Change(row.after.pk, None, {name: getattr(row.after, name) for name in EDITABLE})
    before, after = ({name: getattr(pet, name) for name in row.changed_fields} for pet in (row.before, row.after))
    return undo.Change(row.after.pk, before, after)
