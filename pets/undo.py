"""The records of changes by staff, and the undoing of a change."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import orjson
from django.contrib.admin.models import CHANGE, DELETION
from django.db import connection, transaction
from django.db.models import Min
from django.utils import timezone

from pets import history, trash
from pets.fields import EDITABLE
from pets.models import ChangedPet, ChangeSet, Pet, TrashedPet
from petservice.db.backend import backend
from petservice.db.lookups import Among

# Number of expired rows that one change deletes beyond the number of its own rows, so that the table does not grow.
_MAX_DELETED = 1000
# Number of expired change sets that one change looks at.
_MAX_SETS = 20

Values = dict[str, str | None]


class Change(NamedTuple):
    """The values of a pet before and after a change. An added pet has none before, and a deleted pet has none after."""

    pet_id: str
    before: Values | None
    after: Values | None


class NotUndoableError(Exception):
    """The change is undone already, or too old, or does not exist."""


def deletion(pet: Pet) -> Change:
    """Return the change that deletes a pet."""
    return Change(pet.pk, {"name": pet.name}, None)


def record(
    *,
    kind: ChangeSet.Kind,
    summary: str,
    changes: Sequence[Change],
    owner_id: Any,
    permissions: str,
    now: datetime | None = None,
) -> ChangeSet:
    """Record a change in the transaction of the change, so that it can be undone, and delete some expired records.

    A deletion has the same `now` as the move into the trash.
    """
    now = now or timezone.now()
    change_set = ChangeSet.objects.create(
        kind=kind,
        summary=summary[: ChangeSet._meta.get_field("summary").max_length],  # the history has the complete values
        count=len(changes),
        owner_id=owner_id,
        permissions=permissions,
        created_at=now,
    )
    key = ChangeSet._meta.pk.get_db_prep_save(change_set.pk, connection)
    rows = [(key, pk, _json(before), _json(after)) for pk, before, after in changes]
    columns = ("change_set_id", "pet_id", "before", "after")
    backend().copy_rows(ChangedPet._meta.db_table, columns, [rows], refresh_statistics=False)
    _delete_expired(now, beyond=len(changes))
    trash.delete_expired(now=now, beyond=len(changes))
    return change_set


def _json(values: Values | None) -> str | None:
    return None if values is None else orjson.dumps(values).decode()


def _delete_expired(now: datetime, beyond: int) -> None:
    # SKIP LOCKED: records that another change deletes now can be skipped.
    expired = ChangeSet.objects.filter(created_at__lte=now - ChangeSet.LIFETIME).order_by("created_at")
    left = beyond + _MAX_DELETED
    for pk in list(expired.select_for_update(skip_locked=True).values_list("pk", flat=True)[:_MAX_SETS]):
        rows = list(ChangedPet.objects.filter(change_set=pk).values_list("pk", flat=True)[:left])
        ChangedPet.objects.filter(Among("pk", rows)).delete()
        left -= len(rows)
        if left <= 0:
            return
        ChangeSet.objects.filter(pk=pk).delete()


@dataclass
class Undoing:
    """The pets that an undo changes, removes and puts back, and those that it leaves alone."""

    changed: list[tuple[Pet, Values]] = field(default_factory=list)  # with their values before the change
    added: list[Pet] = field(default_factory=list)
    deleted: list[TrashedPet] = field(default_factory=list)
    left_alone: list[tuple[str, str]] = field(default_factory=list)  # names, and reasons that follow “because it”

    @property
    def pets(self) -> list[Pet]:
        """Return the pets that are as before the change."""
        deleted = (Pet(pk=one.original_id, name=one.name) for one in self.deleted)
        return [*(pet for pet, _ in self.changed), *self.added, *deleted]

    @property
    def count(self) -> int:
        """Return the number of pets that are as before the change."""
        return len(self.changed) + len(self.added) + len(self.deleted)


def preview(change_set: ChangeSet, *, lock: bool = False) -> Undoing:
    """Return what an undo would do now. With `lock`, all pets stay locked until the current transaction ends."""
    rows = ChangedPet.objects.filter(change_set=change_set).order_by("pet_id")
    changes = [Change(*row) for row in rows.values_list("pet_id", "before", "after")]
    pets = _pets([one.pet_id for one in changes], lock)
    missing = [one.pet_id for one in changes if one.pet_id not in pets]
    trashed = _trashed(missing, lock)
    later = _changed_later(change_set, [*pets])
    undoing = Undoing()
    for one in changes:
        if one.after is None:
            _undo_deletion(undoing, one, trashed[one.pet_id], pets.get(one.pet_id), change_set)
        else:
            pet, is_changed = pets.get(one.pet_id), not later[one.pet_id].isdisjoint(one.after)
            _undo_change(undoing, one, one.after, pet, trashed[one.pet_id], is_changed)
    return undoing


def _pets(ids: list[str], lock: bool) -> dict[str, Any]:
    """Return pets by their ids; without a lock, only rows with their values, which takes half the time."""
    rows: Any = Pet.objects.select_for_update() if lock else Pet.objects.values_list("pk", *EDITABLE, named=True)
    return {row.pk: row for row in rows.filter(Among("pk", ids)).order_by("pk")}


def _changed_later(change_set: ChangeSet, ids: list[str]) -> dict[str, set[str]]:
    """Return the names of the fields that staff changed later in each of these pets, unless they undid that.

    The values alone do not show it, because someone may have changed a value back. Numbers of rows grow with time, as
    each change is recorded while its pet is locked.
    """
    first = ChangedPet.objects.filter(change_set=change_set).aggregate(first=Min("pk", default=0))["first"]
    rows = ChangedPet.objects.filter(pk__gt=first, change_set__undone_at=None).exclude(change_set=change_set)
    found: dict[str, set[str]] = defaultdict(set)
    for pk, after in rows.filter(Among("pet_id", ids), after__isnull=False).values_list("pet_id", "after"):
        found[pk].update(after or ())
    return found


def _trashed(ids: list[str], lock: bool) -> dict[str, list[TrashedPet]]:
    """Return the deleted pets that had these ids, the last one first."""
    rows = TrashedPet.of_pets(ids).order_by("pk")
    found: dict[str, list[TrashedPet]] = defaultdict(list)
    for row in sorted(rows.select_for_update() if lock else rows, key=lambda row: row.deleted_at, reverse=True):
        found[row.original_id].append(row)
    return found


def _undo_deletion(
    undoing: Undoing, change: Change, trashed: list[TrashedPet], pet: Pet | None, change_set: ChangeSet
) -> None:
    name = str((change.before or {}).get("name"))
    its_own = [row for row in trashed if row.deleted_at == change_set.created_at]
    if pet is not None:
        undoing.left_alone.append((name, "exists again"))
    elif its_own:
        undoing.deleted += its_own
    elif trashed:
        undoing.left_alone.append((name, "was put back and deleted again since"))
    else:
        undoing.left_alone.append((name, "is not in the trash any more"))


def _undo_change(
    undoing: Undoing, change: Change, after: Values, pet: Pet | None, trashed: list[TrashedPet], is_changed: bool
) -> None:
    if pet is None:
        name = trashed[0].name if trashed else after.get("name") or change.pet_id
        undoing.left_alone.append((name, "was deleted since"))
    elif is_changed or any(getattr(pet, name) != value for name, value in after.items()):
        undoing.left_alone.append((pet.name, "was changed since"))
    elif change.before is None:
        undoing.added.append(pet)
    else:
        undoing.changed.append((pet, change.before))


@transaction.atomic
def undo(pk: UUID, *, user: Any) -> Undoing:
    """Undo a change once, as far as its pets are as it left them, and record it in their history.

    Raises NotUndoableError.
    """
    now = timezone.now()
    # If two people undo the same change, the second one waits here for the first, and then finds it undone.
    if not ChangeSet.undoable(now=now).filter(pk=pk).update(undone_at=now):
        raise NotUndoableError
    undoing = preview(ChangeSet.objects.get(pk=pk), lock=True)
    _restore(undoing.changed, user.pk)
    trash.move(undoing.added, deleted_by=user.get_username(), now=now)
    removed = "Undone: the import that added this pet. It is in the trash."
    history.write(user.pk, (history.Entry(pet, DELETION, removed) for pet in undoing.added))
    message = "Undone: the deletion of this pet."
    trash.put_back([one.pk for one in undoing.deleted], user_id=user.pk, message=message, now=now)
    return undoing


def _restore(changed: Sequence[tuple[Pet, Values]], user_id: Any) -> None:
    entries = []
    for pet, before in changed:
        sentences = []
        for name in EDITABLE:  # PostgreSQL does not keep the order of the values
            if name in before:
                sentences.append(history.change(name, getattr(pet, name), before[name]))
                setattr(pet, name, before[name])
        entries.append(history.Entry(pet, CHANGE, f"Undone: {' '.join(sentences)}"))
    # One upsert for all pets, because each may have other values. The pets are locked, so none of them is inserted.
    pets = [pet for pet, _ in changed]
    Pet.objects.bulk_create(pets, update_conflicts=True, unique_fields=["id"], update_fields=list(EDITABLE))
    history.write(user_id, entries)
