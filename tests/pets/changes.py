"""Changes of pets as staff make them, recorded in the journal, without their pages."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from django.db import transaction
from django.http import HttpRequest
from django.test import RequestFactory

from pets import trash
from pets.models import Pet
from petservice.journal.models import Event
from petservice.journal.recording import Change, add_event

PAST = datetime(2026, 3, 1, 12, tzinfo=UTC)


def sell_all(at: datetime | None = PAST) -> None:
    """Sell all pets at a time, or at an unknown time."""
    Pet.objects.update(status="sold")
    Pet.objects.update(sold_at=at)  # a correction


def request_of(user: Any) -> HttpRequest:
    """Return a request of an account."""
    request = RequestFactory().post("/")
    request.user = user
    return request


@transaction.atomic
def delete(user: Any, *pets: Pet, now: datetime | None = None) -> Event:
    """Move pets into the trash, and return the event, which can be undone."""
    return _record(user, Event.Kind.DELETED, trash.delete(pets), "pets.delete_pet", now)


@transaction.atomic
def mark(
    user: Any,
    pets: Sequence[Pet],
    status: str,
    *,
    kind: Event.Kind = Event.Kind.STATUS,
    now: datetime | None = None,
) -> Event:
    """Give pets a status, and return the event, which can be undone."""
    changes = [Change(pet.pk, pet.name, {"status": pet.status}, {"status": status}) for pet in pets]
    Pet.objects.filter(pk__in=[pet.pk for pet in pets]).update(status=status)
    return _record(user, kind, changes, "pets.change_pet", now)


def _record(user: Any, kind: Event.Kind, changes: list[Change], permission: str, now: datetime | None) -> Event:
    message = f"{len(changes)} pets."
    return add_event(
        request_of(user), kind, target=Pet, message=message, changes=changes, permissions=[permission], now=now
    )
