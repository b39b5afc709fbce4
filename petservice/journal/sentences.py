"""Sentences about changes, made of the values before and after."""

from datetime import datetime
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.text import capfirst

from petservice.journal.models import Event, Item

# Values that need no quotation marks, because they are words of the service.
_WORDS = frozenset(["available", "pending", "sold"])


def quoted(value: Any) -> str:
    """Return a value of a field for a sentence."""
    if value in (None, ""):
        return "nothing"
    if isinstance(value, datetime):
        return f"{timezone.localtime(value):%Y-%m-%d %H:%M:%S %Z}"
    return f"“{value}”" if isinstance(value, str) and value not in _WORDS else str(value)


def changed(field: str, old: Any, new: Any) -> str:
    """Describe the change of a field in a sentence."""
    return f"{capfirst(field)} changed from {quoted(old)} to {quoted(new)}."


def sentence(item: Item) -> str:
    """Describe what an event did to one of its records."""
    # A text, because a newer version, which already runs during an upgrade, may have more kinds.
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


def changes_of_form(form: Any, *names: str) -> str:
    """Describe the changes that a form has made to a record, if any, or those of the fields with these names."""
    return " ".join(_change_of(form, name) for name in form.changed_data if not names or name in names)


def _change_of(form: Any, name: str) -> str:
    label = form[name].label
    old, new = form.initial.get(name), form.cleaned_data[name]
    if not isinstance(form.fields[name], forms.ModelMultipleChoiceField):
        return changed(label, old, new)
    before, after = set(map(str, old or [])), set(map(str, new))
    parts = {"added": after - before, "removed": before - after}
    differences = [f"{verb} “{name}”" for verb, names in parts.items() for name in sorted(names)]
    return f"{capfirst(label)}: {', '.join(differences)}."
