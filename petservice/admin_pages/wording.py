"""Names and times of records in words, on pages and in the journal."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.utils.html import format_html
from django.utils.timesince import timesince, timeuntil

from petservice.configuration.time_zone import moment

# Maximum number of records that a text names, so that it stays readable.
MAX_NAMED = 10


def first_names(names: Sequence[object], limit: int = MAX_NAMED) -> str:
    """Return the first names and the number of the others."""
    more = f" and {len(names) - limit:,} more" if len(names) > limit else ""
    return ", ".join(map(str, names[:limit])) + more


def relative(at: datetime | None, now: datetime) -> str:
    """Return how far a time is from now, such as "in 2 months, 4 weeks", with the exact time on hover."""
    if at is None:
        return "never"
    if abs(at - now) < timedelta(minutes=1):
        text = "now"
    else:
        text = f"in {timeuntil(at, now)}" if at > now else f"{timesince(at, now)} ago"
    return format_html('<time datetime="{}" title="{}">{}</time>', at.isoformat(), moment(at), text)
