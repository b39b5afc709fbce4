"""Times as people say them, such as "in 3 months", with the exact time on hover."""

from datetime import datetime, timedelta

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince, timeuntil

from petservice.configuration.time_zone import moment


def relative(at: datetime, now: datetime) -> SafeString:
    """Return how far a time is from now, in its largest unit."""
    if abs(at - now) < timedelta(minutes=1):
        text = "now"
    else:
        text = f"in {timeuntil(at, now, depth=1)}" if at > now else f"{timesince(at, now, depth=1)} ago"
    return format_html('<time datetime="{}" title="{}">{}</time>', at.isoformat(), moment(at), text)
