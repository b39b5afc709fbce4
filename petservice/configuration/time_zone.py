"""The store's time zone: its days as ranges of time, and its times as texts that name the zone.

Pages run in this zone (petservice.middleware.PageMiddleware). The API, logs and commands run in UTC.
"""

from datetime import UTC, date, datetime, time, timedelta
from datetime import timezone as fixed_offset
from zoneinfo import ZoneInfo

from django.db.models import Q
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.functional import lazy

# The name of the zone for labels that exist before a page is rendered.
zone_name = lazy(timezone.get_current_timezone_name, str)


class StoreZone(ZoneInfo):
    """A time zone in which every stored time can be shown, with the right abbreviation of the zone.

    Django leaves out the zone of a time that exists twice, so each time gets a fixed offset from UTC with a name.
    The first or the last hours of the calendar stay in UTC, because they are in the year 0 or 10000 of other zones.
    """

    def fromutc(self, dt: datetime) -> datetime:
        try:
            local = super().fromutc(dt)
        except OverflowError:
            return dt.replace(tzinfo=UTC)
        zone_then = fixed_offset(local.utcoffset() or timedelta(0), local.tzname() or "")
        return local.replace(tzinfo=zone_then, fold=0)


def zone(name: str) -> ZoneInfo:
    """Return the time zone with this name of the IANA database, or raise ValueError if there is none."""
    try:
        return StoreZone(name)
    except (KeyError, ValueError, OSError) as error:  # not in the database, not a name, or a directory
        raise ValueError("there is no time zone of this name") from error


def moment(at: datetime) -> str:
    """Return a time as a text with its zone."""
    return date_format(timezone.localtime(at), "DATETIME_FORMAT")


def day_of(at: datetime) -> str:
    """Return the day of a time as a text."""
    return date_format(timezone.localtime(at))


def start_of(day: date) -> datetime:
    """Return when a day begins, in UTC. A day can have 23 or 25 hours, and can begin at one o'clock.

    If the clocks go back over midnight, it begins at the second one. The hour before it belongs to the day before.
    """
    if day == date.min:
        return datetime.min.replace(tzinfo=UTC)  # elsewhere, it begins before Python's calendar
    midnight = datetime.combine(day, time.min, timezone.get_current_timezone())
    first, second = midnight.astimezone(UTC), midnight.replace(fold=1).astimezone(UTC)
    is_over_midnight = first < second and timezone.localdate(second - datetime.resolution) < day
    return second if is_over_midnight else first


def end_of(day: date) -> datetime:
    """Return when the next day begins, in UTC. The last day of the calendar has no end and raises OverflowError."""
    return start_of(day + timedelta(days=1))


def in_days(field: str, first: date | None, last: date | None) -> Q:
    """Return the condition that a time is in the days from one to another, both included.

    The days are ranges of time, for which the database can use an index.
    """
    period = Q()
    if first:
        period &= Q(**{f"{field}__gte": start_of(first)})
    if last and last < date.max:
        period &= Q(**{f"{field}__lt": end_of(last)})
    return period
