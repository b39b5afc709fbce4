"""Sentences about changes, made of the values before and after."""

from typing import Any

from petservice.journal.models import Event, Item

# Values that need no quotation marks, because they are words of the service.
_WORDS = frozenset(["available", "pending", "sold"])


def quoted(value: str | None) -> str:
    """Return a value of a field for a sentence."""
    return "nothing" if value is None else value if value in _WORDS else f"“{value}”"


def changed(field: str, old: str | None, new: str | None) -> str:
    """Describe the change of a field in a sentence."""
    return f"{field.capitalize()} changed from {quoted(old)} to {quoted(new)}."


def sentence(item: Item) -> str:
    """Describe what an event did to one of its records."""
    # A text, because a newer version, which runs beside this one during an upgrade, may know more kinds.
    kind: Any = item.event.kind
    before, after = item.before, item.after
    if item.message or (before is None and after is None):
        return str(item.message or item.event.message)
    if before is None:
        return {Event.Kind.IMPORTED: "Imported.", Event.Kind.RESTORED: "Put back from the trash."}.get(kind, "Added.")
    if after is None:
        return "Deleted."
    start = {Event.Kind.IMPORTED: "Imported: ", Event.Kind.UNDONE: "Undone: "}.get(kind, "")
    return start + " ".join(changed(field, before[field], after[field]) for field in sorted(after))
