"""Changes of pets by staff: their record in the journal, and what undoes one, by the values before it."""

from collections import ChainMap, defaultdict
from collections.abc import Mapping, Sequence

from django.db import transaction
from django.http import HttpRequest

from pets import trash
from pets.fields import EDITABLE
from pets.models import Pet
from petservice.journal.models import Event, Item
from petservice.journal.recording import Change, Values, add_event


def change_of(pet: Pet, before: Values | None, after: Values) -> Change:
    """Return a change, given the values of the changed fields; a pet that was added has none before.

    `pet` has the version and the time of sale from before the change. The change raises the version by one. An undo
    also restores the time of sale.
    """
    if before and before.get("status") == Pet.Status.SOLD:
        before = before | {"sold_at": pet.sold_at}
    version = pet.version if before is None else pet.version + 1
    return Change(pet.pk, after.get("name", pet.name), before, after, version=version)


def add_event_of_change(
    request: HttpRequest, kind: Event.Kind, summary: str, changes: Sequence[Change], *permissions: str
) -> Event:
    """Record changes in their transaction. Undoing them needs the permissions."""
    if kind == Event.Kind.CHANGED:  # staff find by the kind what was sold
        fields = [change.after or {} for change in changes]
        if any(after.get("status") == Pet.Status.SOLD for after in fields):
            kind = Event.Kind.SOLD
        elif all({*after} == {"status"} for after in fields):
            kind = Event.Kind.STATUS
    return add_event(request, kind, target=Pet, message=summary, changes=changes, permissions=permissions)


def changed_since(versions: Mapping[Pet, int]) -> dict[str, Values]:
    """Return the fields of each pet that changed after a version, with the values of then, by the ids of the pets.

    Pets for which the journal does not name all changes are missing.
    """
    ids = [pet.pk for pet in versions]
    items = Item.objects.filter(record_id__in=ids, version__isnull=False)  # only pets have versions
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


def _changed_later(items: Sequence[Item], ids: list[str]) -> dict[str, set[str]]:
    """Return the names of the fields that staff changed in each pet after these items of an event, unless undone.

    The values alone do not show it, because someone may have changed a value back. Later items of a pet have higher
    primary keys, because each change is recorded while its pet is locked.
    """
    last = max((item.pk for item in items), default=0)
    later = [*Item.objects.filter(record_id__in=ids, pk__gt=last).values_list("record_id", "after", "event")]
    # Not joined, because SQLite would begin with all events that were not undone.
    events = Event.objects.filter(pk__in={event for *_, event in later})
    changes = events.exclude(kind__in=[Event.Kind.UNDONE, Event.Kind.RESTORED])
    undone_by = dict(changes.values_list("pk", "undone_by"))
    records = {(event, pet) for pet, _, event in later}  # an undo leaves some pets alone, and has no items of them
    found: dict[str, set[str]] = defaultdict(set)
    for pet, after, event in later:
        if event in undone_by and (undone_by[event], pet) not in records:
            found[pet].update(after or ())
    return found


@transaction.atomic
def undo(request: HttpRequest, pk: int) -> tuple[int, list[str]] | None:
    """Undo a change once, for those of its pets that have not changed since, and record it.

    Returns the number of these pets, and the names of those that it left alone, or None if it is too late.
    """
    # If two people undo the same change, the second one waits here for the first, and then finds it undone.
    event = Event.objects.undoable().select_for_update().filter(pk=pk).first()
    if event is None:
        return None
    items = [*Item.objects.select_for_update().filter(event=event).order_by("pk")]  # as trash.put_back locks them
    ids = [one.record_id for one in items]
    pets = {pet.pk: pet for pet in Pet.objects.select_for_update().filter(pk__in=ids).order_by("pk")}
    later = _changed_later(items, [*pets])
    changed: list[tuple[Pet, Values]] = []  # with their values before the change
    added: list[Pet] = []
    deleted: list[Item] = []
    left_alone: list[str] = []
    for one in items:
        pet, after = pets.get(one.record_id), one.after
        if after is None:
            deleted.append(one)
        elif pet is None or later[pet.pk] & {*after} or any(getattr(pet, name) != after[name] for name in after):
            left_alone.append(pet.name if pet else one.record_name)
        elif one.before is None:
            added.append(pet)
        else:
            changed.append((pet, one.before))
    back, _ = trash.put_back([one.pk for one in deleted], message="Undone: the deletion of this pet.")
    came_back = {change.record_id for change in back}  # not those that an import took, or that left the trash
    left_alone += [one.record_name for one in deleted if one.record_id not in came_back]
    removed = trash.delete(added, message="Undone: the addition of this pet. It is in the trash.")
    changes = [*_restore(changed), *removed, *back]
    if changes:  # else the change stays, so that it can be undone once nothing is in the way any more
        alone = f" Left alone: {len(left_alone):,}." if left_alone else ""
        message = f"{event.message} By {event.account_name}.{alone}"
        event.undone_by = add_event(request, Event.Kind.UNDONE, target=Pet, message=message, changes=changes)
        event.save(update_fields=["undone_by"])
    return len(changes), left_alone


def _restore(changed: Sequence[tuple[Pet, Values]]) -> list[Change]:
    """Give pets, which the current transaction has locked, their values before a change."""
    changes = []
    for pet, before in changed:
        after = {name: value for name, value in before.items() if name in EDITABLE}
        changes.append(change_of(pet, {name: getattr(pet, name) for name in after}, after))
        for name, value in before.items():
            setattr(pet, name, value)
    # One upsert for all pets, because each may have other values. The pets are locked, so none of them is inserted.
    pets = [pet for pet, _ in changed]
    fields = [*EDITABLE, "sold_at"]
    trash.write_with_sales(pets, update_conflicts=True, unique_fields=["id"], update_fields=fields)
    return changes
