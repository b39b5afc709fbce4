"""The use of an API key as its pages show it: a chart of the last days, and the last use in words."""

from datetime import date, datetime, timedelta
from typing import Any

from django.utils.timesince import timesince

from petservice.admin_pages.charts import Series, day_chart
from petservice.apikeys.models import USAGE_DAYS, APIKey, KeyDay
from petservice.time_zone import moment


def last_days(api_key: APIKey, today: date) -> dict[str, Any]:
    """Return the use of a key on the last days up to today, oldest first, as numbers and as a chart, for a template."""
    first = today - timedelta(days=USAGE_DAYS - 1)
    stored = {row.day: row for row in KeyDay.objects.filter(api_key=api_key, day__gte=first, day__lte=today)}
    dates = [first + timedelta(days=number) for number in range(USAGE_DAYS)]
    days = [stored.get(day) or KeyDay(day=day) for day in dates]
    requests = Series(
        {one.day: one.requests for one in days},
        {one.day: _text(one) for one in days},
        parts={one.day: one.client_errors + one.server_errors for one in days},
    )
    return day_chart(requests) | {
        "days": days,
        "requests": sum(day.requests for day in days),
        "client_errors": sum(day.client_errors for day in days),
        "server_errors": sum(day.server_errors for day in days),
    }


def _text(day: KeyDay) -> str:
    requests = "1 request" if day.requests == 1 else f"{day.requests:,} requests"
    rejected = f", {day.client_errors:,} rejected" if day.client_errors else ""
    failed = f", {day.server_errors:,} failed" if day.server_errors else ""
    return f"{requests}{rejected}{failed}"


def last_use(api_key: APIKey, now: datetime) -> str:
    """Return in words when a key was last used, and from which address."""
    used_at = api_key.last_used_at
    if used_at is None:
        return "Never used."
    ago = timesince(used_at, now, depth=1) if now - used_at >= timedelta(minutes=1) else "less than a minute"
    origin = f" from {api_key.last_used_address}" if api_key.last_used_address else ""
    return f"Last used {ago} ago{origin}, on {moment(used_at)}."
