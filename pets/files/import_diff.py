"""The changes that an uploaded file makes to the pets: previewed first, then applied exactly as previewed."""

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from hashlib import sha256
from secrets import randbelow
from typing import Any

import orjson

from pets.fields import EDITABLE
from pets.files.rows import Line
from pets.models import Pet

_CHANGED = "some of these pets were changed after the preview. Check the new preview and confirm again."


class StaleError(Exception):
    """The error that a preview is out of date. Its text is the reason, and what to do."""


@dataclass(frozen=True)
class RowChange:
    """The pet of one row before and after the import; a new pet has no `before`."""

    line: int
    before: Pet | None
    after: Pet

    @property
    def changed_fields(self) -> list[str]:
        """Return the names of the fields whose values change."""
        return [field for field in EDITABLE if getattr(self.before, field, None) != getattr(self.after, field)]

    @property
    def kind(self) -> str:
        """Return whether the row adds a pet (new), changes one (update) or neither (skip)."""
        if self.before is None:
            return "new"
        return "update" if self.changed_fields else "skip"


def errors_in(lines: Iterable[Line]) -> Iterator[tuple[int, str]]:
    """Yield the errors of the lines, with their numbers. An id that an earlier line has is an error, too."""
    first: dict[str, int] = {}
    for line in lines:
        yield from ((line.number, error) for error in line.errors)
        pk = line.values.get("id")
        if pk and first.setdefault(pk, line.number) != line.number:
            yield line.number, f"Duplicate ID: also on line {first[pk]}."


def changes_by(lines: Sequence[Line], *, lock: bool = False) -> list[RowChange]:
    """Compare lines without errors with the pets; `lock` keeps the pets locked until the current transaction ends."""
    pets = Pet.objects.select_for_update() if lock else Pet.objects.all()
    # All imports lock pets in the same order, so that two imports of the same pets do not deadlock.
    existing = pets.order_by("pk").in_bulk(sorted(line.values["id"] for line in lines if "id" in line.values))
    found = []
    for line in lines:
        before = existing.get(line.values.get("id", ""))
        found.append(RowChange(line.number, before, _after(line.values, before)))
    return found


def digest_of(changes: Sequence[RowChange]) -> str:
    """Return a digest of the pets before the changes, which differs once one of them is changed, created or deleted."""
    before = [[change.line, change.before and [change.before.pk, change.before.version]] for change in changes]
    return sha256(orjson.dumps(before)).hexdigest()


def _after(values: dict[str, Any], before: Pet | None) -> Pet:
    if before is None:
        # A row with an ID may be a deleted pet again, whose version a list may still show. So it gets another one.
        version = {"version": randbelow(1 << 30)} if "id" in values else {}
        return Pet(**values | version)
    after = copy(before)
    for field in EDITABLE:
        setattr(after, field, values.get(field, getattr(before, field)))
    return after


def apply(lines: Sequence[Line], *, digest: str) -> list[RowChange]:
    """Write the changes of the preview with this digest, or raise StaleError if the pets have changed since.

    Raises IntegrityError if another writer creates one of these pets, which could not be locked.
    """
    changes = changes_by(lines, lock=True)
    if digest_of(changes) != digest:
        raise StaleError(_CHANGED)
    Pet.objects.bulk_create(change.after for change in changes if change.kind == "new")
    # Few statements, because other writers on SQLite wait until the transaction ends.
    changed = (change.after for change in changes if change.kind == "update")
    Pet.objects.bulk_create(changed, update_conflicts=True, unique_fields=["id"], update_fields=EDITABLE)
    return changes
