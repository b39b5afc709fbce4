"""The removal of expired rows, which changes and requests do on their way and must not wait for."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from pets import services
from pets.models import IdempotencyRecord, Pet, TrashedPet
from petservice.apikeys.models import APIKey
from petservice.journal.models import Event
from petservice.journal.retention import empty_trash, remove_old_events
from tests.concurrent_write import only_on_postgresql, without_waiting
from tests.pets.changes import delete


def make_expired_rows(owner: User, now: datetime) -> None:
    old = now - timedelta(days=1000)
    key, _ = APIKey.objects.create_key(name="Acme")
    services.create_pet_once(api_key=key, idempotency_key="key", name="Rex", now=old)
    delete(owner, Pet.objects.get(), now=old)
    Event.objects.create(kind=Event.Kind.LOGIN, at=old)


@only_on_postgresql
@pytest.mark.parametrize(
    ("rows", "remove"),
    [
        (IdempotencyRecord.objects.all(), services._delete_expired_records),
        (TrashedPet.objects.all(), lambda now: empty_trash(now=now, beyond=0)),
        (Event.objects.filter(kind=Event.Kind.LOGIN), remove_old_events),
        (Event.objects.filter(address__isnull=False), remove_old_events),
    ],
    ids=["idempotency records", "trash", "events without records", "addresses"],
)
def test_no_removal_waits_for_another(ada: User, rows: QuerySet[Any], remove: Callable[[datetime], Any]) -> None:
    now = timezone.now()
    make_expired_rows(ada, now)
    assert rows.count() == 1

    with transaction.atomic():
        remove(now)
        without_waiting(transaction.atomic(lambda: remove(now)))

    assert not rows.exists()
