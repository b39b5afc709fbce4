"""The data of the admin dashboard, limited to what the user may view.

The number of queries is fixed, and each reads a part of an index or a small table.
"""

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from urllib.parse import urlencode

from django.contrib.admin import AdminSite
from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.core.cache import cache
from django.db.models import Count, Model, Q
from django.http import HttpRequest
from django.template.defaultfilters import pluralize
from django.urls import reverse
from django.utils import timezone

from pets.models import Pet
from petservice.admin_pages.charts import COLUMN, DayBar, StatusBar, day_bars, status_bar
from petservice.apikeys.models import SOON, APIKey
from petservice.time_zone import in_days
from store.models import InventoryItem
from store.services import inventory_counts

# The number of days in the chart, including today.
DAYS = 30
# The number of entries in the list of last changes.
CHANGES = 10
# Seconds for which the counts per day are cached, because counting reads an index entry for each pet of the 30 days.
DAYS_MAX_AGE = 60


@dataclass(frozen=True)
class Inventory:
    """A count of all pets by status. `add_url` is None if the user may not add pets."""

    total: int
    url: str
    bars: list[StatusBar]
    add_url: str | None


@dataclass(frozen=True)
class Days:
    """A chart of the pets created on each of the last 30 days, oldest first."""

    total: int
    url: str
    best: DayBar
    bars: list[DayBar]
    width: int


@dataclass(frozen=True)
class KeyFigure:
    """A count of the API keys that need one kind of attention."""

    label: str
    count: int
    url: str


@dataclass(frozen=True)
class Keys:
    """A summary of all API keys and those that need attention. `add_url` is None if the user may not add keys."""

    total: int
    url: str
    figures: list[KeyFigure]
    add_url: str | None


@dataclass(frozen=True)
class Change:
    """A change by a member of staff. `url` is None if the change was a deletion."""

    entry: LogEntry
    model_name: str
    description: str
    url: str | None


@dataclass(frozen=True)
class Dashboard:
    """The sections of the admin dashboard. A section is None if the user may not view it."""

    inventory: Inventory | None
    days: Days | None
    keys: Keys | None
    changes: list[Change] | None


def read(site: AdminSite, request: HttpRequest, *, now: datetime | None = None) -> Dashboard:
    """Return the dashboard for the user of a request."""
    now = now or timezone.now()
    listed = [model for app in site.get_app_list(request) for model in app["models"]]
    visible = [model["model"] for model in listed if model["perms"]["view"]]  # true for users who may change, too
    add_urls = {model["model"]: model["add_url"] for model in listed}
    return Dashboard(
        inventory=_inventory(add_urls.get(Pet)) if InventoryItem in visible else None,
        days=_days(timezone.localdate(now)) if Pet in visible else None,
        keys=_keys(now, add_urls[APIKey]) if APIKey in visible else None,
        changes=_changes(visible) if visible else None,
    )


def _list_url(model: type[Model], **filters: object) -> str:
    url = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    return f"{url}?{urlencode(filters)}" if filters else url


def _inventory(add_url: str | None) -> Inventory:
    counts = inventory_counts()
    total = sum(counts.values())
    bars = [
        status_bar(status.label, counts[status], total, _list_url(InventoryItem, status__exact=status))
        for status in Pet.Status
    ]
    return Inventory(total, _list_url(InventoryItem), bars, add_url)


def _days(today: date) -> Days:
    days = [today - timedelta(days=ago) for ago in range(DAYS)]
    counts = cache.get_or_set(f"pets-created-per-day-{today}", lambda: _created_per_day(days), DAYS_MAX_AGE) or {}
    bars = day_bars(
        counts,
        {day: f"{count:,} pet{pluralize(count)}" for day, count in counts.items()},
        urls={day: _list_url(Pet, created_from=day, created_to=day) for day in days},
    )
    return Days(
        total=sum(counts.values()),
        url=_list_url(Pet, created_from=days[-1], created_to=today),
        best=max(bars, key=lambda bar: (bar.count, bar.day)),
        bars=bars,
        width=DAYS * COLUMN,
    )


def _created_per_day(days: list[date]) -> dict[date, int]:
    """Count the pets that were created on each day of the store, with one index range per day."""
    return {day: Pet.objects.order_by().filter(in_days("created_at", day, day)).count() for day in days}


def _keys(now: datetime, add_url: str | None) -> Keys:
    """Return the counts of keys that need attention, where each key is counted once, in the first line that fits.

    The use of a key matters only if the key does not expire soon.
    """
    state, use = APIKey.State, APIKey.Use
    lines: list[tuple[str, dict[str, str], Q]] = [
        (f"Expire within {SOON.days} days", {"state": state.EXPIRES_SOON}, APIKey.in_state(state.EXPIRES_SOON, now)),
        ("Expired", {"state": state.EXPIRED}, APIKey.in_state(state.EXPIRED, now)),
    ]
    active = APIKey.in_state(state.ACTIVE, now)
    lines += [(one.label, {"state": state.ACTIVE, "use": one}, active & APIKey.in_use(one, now)) for one in use]
    total, *counts = APIKey.objects.aggregate(
        total=Count("pk"), **{f"line_{number}": Count("pk", filter=line[2]) for number, line in enumerate(lines)}
    ).values()
    figures = [
        KeyFigure(label, count, _list_url(APIKey, **filters))
        for (label, filters, _), count in zip(lines, counts, strict=True)
    ]
    return Keys(total, _list_url(APIKey), figures, add_url)


def _changes(visible: list[type[Model]]) -> list[Change]:
    """Return the last changes to these models, newest first.

    They are ordered by id, which grows with time, because the time has no index.
    """
    types = ContentType.objects.get_for_models(*visible, for_concrete_models=False)
    names = {one.pk: str(model._meta.verbose_name) for model, one in types.items()}
    newest: list[int] = []
    for one in types.values():
        # A range of one content type makes PostgreSQL use the index (content_type_id, id) from our migration. With an
        # equality it may scan the ids backwards instead, through the whole table if the type is rare.
        of_type = LogEntry.objects.filter(content_type__gte=one, content_type__lte=one)
        newest += of_type.order_by("-content_type_id", "-pk").values_list("pk", flat=True)[:CHANGES]
    last = LogEntry.objects.filter(pk__in=sorted(newest)[-CHANGES:]).order_by("-pk")
    return [
        Change(
            entry=entry,
            model_name=names[entry.content_type_id],  # type: ignore[index]  # the query selects by type
            description=_description(entry),
            url=None if entry.is_deletion() else entry.get_admin_url(),
        )
        for entry in last.select_related("content_type", "user")
    ]


def _description(entry: LogEntry) -> str:
    """Return the change in words, for users who cannot see the icon."""
    message = entry.get_change_message()
    if entry.is_change():
        return message or "Changed."
    verb = "Added." if entry.is_addition() else "Deleted."
    return message if message.startswith(verb) else f"{verb} {message}".strip()
