"""The data of the admin dashboard, limited to what the user may view.

The number of queries is fixed, and each reads a part of an index or a small table.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

from django.contrib.admin import AdminSite
from django.db.models import Count, Model, Q
from django.http import HttpRequest
from django.utils import timezone

from pets.permissions import EDIT, may_see_inventory, may_see_pets
from pets.search.tags import several_spellings, tags_of_newest_pets
from petservice.apikeys.models import SOON, APIKey, KeyDay
from petservice.backoffice import sales
from petservice.journal.models import Event
from petservice.journal.recording import type_of
from store.services import inventory_counts

# The number of entries in the list of last changes.
CHANGES = 10
# The kinds of events about records that change none.
_NO_CHANGES = [Event.Kind.EXPORTED, Event.Kind.SECOND_FACTOR]
# Maximum number of keys with failed or rejected requests that are named.
FAILING_KEYS = 5
# Maximum number of tags with several spellings that are named.
TAGS_TO_MERGE = 5


def sections(site: AdminSite, request: HttpRequest) -> dict[str, Any]:
    """Return the sections of the dashboard. A section is None if the user of the request may not view it."""
    now = timezone.now()
    listed = [model for app in site.get_app_list(request) for model in app["models"]]
    visible = [model["model"] for model in listed if model["perms"]["view"]]  # true for users who may change, too
    counts = inventory_counts() if may_see_inventory(request.user) else {}
    return {
        "inventory": {"counts": counts, "total": sum(counts.values())} if counts else None,
        "sales": sales.section(timezone.localdate(now)) if may_see_pets(request.user) else None,
        "tags": several_spellings(tags_of_newest_pets())[:TAGS_TO_MERGE] if request.user.has_perm(EDIT) else [],
        "keys": _keys(now) if APIKey in visible else None,
        "changes": _changes(request, visible) if visible else None,
    }


def _keys(now: datetime) -> dict[str, Any]:
    """Count the keys that need attention, each once, in the first line that fits.

    The use of a key matters only if the key does not expire soon.
    """
    state, use = APIKey.State, APIKey.Use
    lines: list[tuple[str, dict[str, Any]]] = [
        (f"Expire within {SOON.days} days", {"state": state.EXPIRES_SOON}),
        ("Expired", {"state": state.EXPIRED}),
        *((one.label, {"state": state.ACTIVE, "use": one}) for one in use),
    ]
    numbers = {f"line_{number}": Count("pk", filter=Q(**filters)) for number, (_, filters) in enumerate(lines)}
    total, *counts = APIKey.objects.with_states(now).aggregate(total=Count("pk"), **numbers).values()
    figures = [
        {"label": label, "count": count, "url": sales.list_url(APIKey, **filters)}
        for (label, filters), count in zip(lines, counts, strict=True)
    ]
    yesterday = now.astimezone(UTC).date() - timedelta(days=1)  # the use of keys is counted by the days of UTC
    failing = KeyDay.objects.filter(Q(client_errors__gt=0) | Q(server_errors__gt=0), day=yesterday)
    worst = [*failing.select_related("api_key").order_by("-server_errors", "-client_errors", "pk")[:FAILING_KEYS]]
    return {
        "total": total,
        "url": sales.list_url(APIKey),
        "figures": figures,
        "failing": worst,
        "number_of_failing": failing.count(),
        "need_attention": any(counts) or bool(worst),
    }


def _changes(request: HttpRequest, visible: list[type[Model]]) -> list[tuple[Event, bool]]:
    """Return the last changes to these models, newest first, each with its record and whether the user can undo it."""
    newest: list[tuple[datetime, int]] = []
    for one in {type_of(model) for model in visible}:
        of_type = Event.objects.filter(record_type=one).exclude(kind__in=_NO_CHANGES)
        newest += of_type.order_by("-at", "-pk").values_list("at", "pk")[:CHANGES]
    events = Event.objects.filter(pk__in=[pk for _, pk in sorted(newest)[-CHANGES:]]).with_record()
    undoable = set(Event.objects.undoable().values_list("pk", flat=True).filter(pk__in=[pk for _, pk in newest]))
    return [
        (event, event.pk in undoable and request.user.has_perms(event.permissions.split()))
        for event in events.select_related("undone_by")
    ]
