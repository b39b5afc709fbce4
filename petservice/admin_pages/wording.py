"""Names, times and changes of records in words, on pages and in the journal."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.timesince import timesince, timeuntil

from petservice.configuration.time_zone import moment

# Maximum number of records that a text names, so that it stays readable.
MAX_NAMED = 10


def first_names(names: Sequence[object], limit: int = MAX_NAMED) -> str:
    """Return the first names and the number of the others."""
    more = f" and {len(names) - limit:,} more" if len(names) > limit else ""
    return ", ".join(map(str, names[:limit])) + more


def relative(at: datetime, now: datetime) -> SafeString:
    """Return how far a time is from now, in its largest unit, such as "in 3 months", with the exact time on hover."""
    if abs(at - now) < timedelta(minutes=1):
        text = "now"
    else:
        text = f"in {timeuntil(at, now, depth=1)}" if at > now else f"{timesince(at, now, depth=1)} ago"
    return format_html('<time datetime="{}" title="{}">{}</time>', at.isoformat(), moment(at), text)


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
