"""What a file that staff upload adds and changes: shown first, and then done as it was shown or not at all."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import orjson
from django.contrib.admin.models import ADDITION, CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db import IntegrityError, transaction

from pets.fields import EDITABLE, OPTIONAL_TEXTS, new_pet_id
from pets.files.rows import Line, Row
from pets.models import Pet


class StaleError(Exception):
    """The pets have been changed since they were compared with the file."""


@dataclass(frozen=True)
class Difference:
    """One line of the file, and the pet before and after it; a new one has no before."""

    line: int
    before: Pet | None
    after: Pet

    @property
    def changed(self) -> list[str]:
        """The names of the fields that differ."""
        return [field for field in EDITABLE if getattr(self.before, field, None) != getattr(self.after, field)]


@dataclass(frozen=True)
class Comparison:
    """What is wrong with the file, by line, or else what it adds, changes and leaves as it is."""

    problems: list[tuple[int, str]]
    differences: list[Difference]

    @property
    def digest(self) -> str:
        """Another one if any of the pets that the file names is another, or there or gone, than it was."""
        before = [
            [d.line, d.before and [getattr(d.before, field) for field in ("id", *EDITABLE)]] for d in self.differences
        ]
        return sha256(orjson.dumps(before)).hexdigest()


def compare(lines: Sequence[Line], *, lock: bool = False) -> Comparison:
    """What the file would do; with `lock`, in a transaction, nobody changes the pets before that ends."""
    problems = [(line.number, problem) for line in lines for problem in line.problems] + _repeated(lines)
    if problems:
        return Comparison(sorted(problems), [])
    pets = Pet.objects.select_for_update() if lock else Pet.objects.all()
    # In one order, so that two who lock the same pets do not wait for each other.
    there = pets.order_by("pk").in_bulk(sorted(line.row.id for line in lines if line.row and line.row.id))
    differences = [
        Difference(line.number, before, _after(line.row, line.values, before))
        for line in lines
        if line.row is not None
        for before in [there.get(line.row.id or "")]
    ]
    return Comparison([], differences)


def _repeated(lines: Sequence[Line]) -> list[tuple[int, str]]:
    first: dict[str, int] = {}
    return [
        (line.number, f"the id is on line {first[line.row.id]} already.")
        for line in lines
        if line.row and line.row.id and first.setdefault(line.row.id, line.number) != line.number
    ]


def _after(row: Row, values: Any, before: Pet | None) -> Pet:
    if before is None:
        return Pet(**row._asdict() | {"id": row.id or new_pet_id()})
    after = copy(before)
    for field in EDITABLE:
        # A column that is not in the file changes nothing; an empty text is none, and an empty status says nothing.
        if values.get(field) or (field in OPTIONAL_TEXTS and field in values):
            setattr(after, field, getattr(row, field))
    return after


@transaction.atomic
def merge(lines: Sequence[Line], *, digest: str, user_id: Any) -> Comparison:
    """Do what the comparison with this digest showed, and tell it in the history of each pet; or raise StaleError."""
    comparison = compare(lines, lock=True)
    if comparison.digest != digest:
        raise StaleError
    new = [difference for difference in comparison.differences if difference.before is None]
    changed = [difference for difference in comparison.differences if difference.before and difference.changed]
    try:
        Pet.objects.bulk_create(difference.after for difference in new)
    except IntegrityError:  # one that was not there to be locked
        raise StaleError from None
    # In few statements: SQLite has other writers wait meanwhile.
    after = (difference.after for difference in changed)
    Pet.objects.bulk_create(after, update_conflicts=True, unique_fields=["id"], update_fields=EDITABLE)
    content_type = ContentType.objects.get_for_model(Pet)
    LogEntry.objects.bulk_create(
        LogEntry(
            user_id=user_id,
            content_type=content_type,
            object_id=difference.after.pk,
            object_repr=str(difference.after)[:200],
            action_flag=CHANGE if difference.before else ADDITION,
            change_message=_message(difference),
        )
        for difference in new + changed
    )
    return comparison


def _message(difference: Difference) -> str:
    if difference.before is None:
        return "Imported."
    changes = (
        f"{field} from {getattr(difference.before, field) or 'none'} to {getattr(difference.after, field) or 'none'}"
        for field in difference.changed
    )
    return f"Imported: {', '.join(changes)}."
