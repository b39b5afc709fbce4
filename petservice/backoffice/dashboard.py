"""What the admin's front page shows: only what the viewer may see, and at a cost that hardly grows with the pets."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from urllib.parse import urlencode

from django.contrib.admin import AdminSite
from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.core.cache import cache
from django.db.models import Count, Model, Q
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from pets.models import Pet
from petservice.apikeys.models import SOON, APIKey
from petservice.backoffice.charts import COLUMN, DayBar, StatusBar, day_bars, status_bar
from store.models import InventoryItem
from store.services import inventory_counts

DAYS = 30  # today included
CHANGES = 10

# Seconds for which the counts of days are kept, since each reads as much of an index as there are pets of that day.
DAYS_MAX_AGE = 60


@dataclass(frozen=True)
class Inventory:
    """All pets by status; `add_url` for those who may add one."""

    total: int
    url: str
    bars: list[StatusBar]
    add_url: str | None


@dataclass(frozen=True)
class Days:
    """The last thirty days, oldest first."""

    total: int
    url: str
    best: DayBar
    bars: list[DayBar]
    width: int


@dataclass(frozen=True)
class KeyFigure:
    """How many API keys want one kind of attention."""

    label: str
    count: int
    url: str


@dataclass(frozen=True)
class Keys:
    """The API keys that need attention, of all that there are; `add_url` for those who may add one."""

    total: int
    url: str
    figures: list[KeyFigure]
    add_url: str | None


@dataclass(frozen=True)
class Change:
    """What a member of staff has done; without a `url` to what they have deleted."""

    entry: LogEntry
    kind: str
    what: str
    url: str | None


@dataclass(frozen=True)
class Dashboard:
    """The parts of the front page; None for those that the viewer may not see."""

    inventory: Inventory | None
    days: Days | None
    keys: Keys | None
    changes: list[Change] | None


def read(site: AdminSite, request: HttpRequest, *, now: datetime | None = None) -> Dashboard:
    """The dashboard of `site` for the user of `request`."""
    now = now or timezone.now()
    listed = [model for app in site.get_app_list(request) for model in app["models"]]
    visible = [model["model"] for model in listed if model["perms"]["view"]]  # by those who may change, too
    add_urls = {model["model"]: model["add_url"] for model in listed}
    return Dashboard(
        inventory=_inventory(add_urls.get(Pet)) if InventoryItem in visible else None,
        days=_days(now.date()) if Pet in visible else None,
        keys=_keys(now, add_urls[APIKey]) if APIKey in visible else None,
        changes=_changes(visible) if visible else None,
    )


def _list_url(model: type[Model], **filters: object) -> str:
    address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    return f"{address}?{urlencode(filters)}" if filters else address


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
    bars = day_bars(counts, {day: _list_url(Pet, created_from=day, created_to=day) for day in days})
    return Days(
        total=sum(counts.values()),
        url=_list_url(Pet, created_from=days[-1], created_to=today),
        best=max(bars, key=lambda bar: (bar.count, bar.day)),
        bars=bars,
        width=DAYS * COLUMN,
    )


def _created_per_day(days: list[date]) -> dict[date, int]:
    """Count the pets that were created on each of these days (UTC), each by a range of an index."""
    starts = {day: datetime.combine(day, time.min, UTC) for day in days}
    created = Pet.objects.order_by()
    return {
        day: created.filter(created_at__gte=start, created_at__lt=start + timedelta(days=1)).count()
        for day, start in starts.items()
    }


def _keys(now: datetime, add_url: str | None) -> Keys:
    """Each key counts once, where it needs the attention: how it is used matters only while it is to live on."""
    state, use = APIKey.State, APIKey.Use
    wanted: list[tuple[str, dict[str, str], Q]] = [
        (f"Expire within {SOON.days} days", {"state": state.EXPIRES_SOON}, APIKey.in_state(state.EXPIRES_SOON, now)),
        ("Expired", {"state": state.EXPIRED}, APIKey.in_state(state.EXPIRED, now)),
    ]
    active = APIKey.in_state(state.ACTIVE, now)
    wanted += [(one.label, {"state": state.ACTIVE, "use": one}, active & APIKey.in_use(one, now)) for one in use]
    total, *counts = APIKey.objects.aggregate(
        total=Count("pk"), **{f"wanted_{number}": Count("pk", filter=one[2]) for number, one in enumerate(wanted)}
    ).values()
    figures = [
        KeyFigure(label, count, _list_url(APIKey, **filters))
        for (label, filters, _), count in zip(wanted, counts, strict=True)
    ]
    return Keys(total, _list_url(APIKey), figures, add_url)


def _changes(visible: list[type[Model]]) -> list[Change]:
    """The last changes of these models, newest first: as ids grow with time, and the time has no index."""
    types = ContentType.objects.get_for_models(*visible, for_concrete_models=False)
    names = {one.pk: str(model._meta.verbose_name) for model, one in types.items()}
    newest: list[int] = []
    for one in types.values():
        # As a range of types, in their order, which the index of petservice's migration has and no other: for a single
        # type PostgreSQL may walk back through the ids until it has met it often enough, which can be the whole log.
        of_type = LogEntry.objects.filter(content_type__gte=one, content_type__lte=one)
        newest += of_type.order_by("-content_type_id", "-pk").values_list("pk", flat=True)[:CHANGES]
    last = LogEntry.objects.filter(pk__in=sorted(newest)[-CHANGES:]).order_by("-pk")
    return [
        Change(
            entry=entry,
            kind=names[entry.content_type_id],  # type: ignore[index]  # it was asked for by its type
            what=_what(entry),
            url=None if entry.is_deletion() else entry.get_admin_url(),
        )
        for entry in last.select_related("content_type", "user")
    ]


def _what(entry: LogEntry) -> str:
    """In words, for those who do not see the icon."""
    message = entry.get_change_message()
    if entry.is_change():
        return message or "Changed."
    verb = "Added." if entry.is_addition() else "Deleted."
    return message if message.startswith(verb) else f"{verb} {message}".strip()
