"""The texts for changes in the journal, with the old and the new values."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.text import capfirst


def change_message(form: Any) -> str:
    """Describe the changes that a form has made to a record, if any."""
    return " ".join(sentence(form, name) for name in form.changed_data)


def sentence(form: Any, name: str) -> str:
    """Describe the change of one field."""
    field = form.fields.get(name)
    label = capfirst(str(field.label if field is not None and field.label else name))
    old, new = form.initial.get(name), form.cleaned_data[name]
    if isinstance(field, forms.ModelMultipleChoiceField):
        return f"{label}: {_difference(old or [], new)}."
    return f"{label} changed from {_text(old)} to {_text(new)}."


def _difference(old: Iterable[Any], new: Iterable[Any]) -> str:
    before, after = set(map(str, old)), set(map(str, new))
    parts = {"added": after - before, "removed": before - after}
    return ", ".join(f"{verb} “{name}”" for verb, names in parts.items() for name in sorted(names))


def _text(value: Any) -> str:
    if value in (None, ""):
        return "nothing"
    if isinstance(value, datetime):
        return f"{timezone.localtime(value):%Y-%m-%d %H:%M:%S %Z}"
    return f"“{value}”" if isinstance(value, str) else str(value)
