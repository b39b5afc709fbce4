"""The removal of expired rows, which changes and requests do on their way and must not wait for."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import models, transaction
from django.utils import timezone

from pets import services, trash, undo
from pets.models import ChangeSet, IdempotencyRecord, Pet, TrashedPet
from petservice.apikeys.models import APIKey
from tests.concurrent_write import only_on_postgresql, without_waiting


def make_expired_rows(owner: User, now: datetime) -> None:
    old, pet = now - timedelta(days=31), Pet(name="Rex")
    key, _ = APIKey.objects.create_key(name="Acme")
    services.create_pet_once(api_key=key, idempotency_key="key", name="Rex", now=old)
    with transaction.atomic():
        undo.record(
            kind=ChangeSet.Kind.DELETED,
            summary="Deleted.",
            changes=[undo.deletion(pet)],
            owner_id=owner.pk,
            permissions="pets.change_pet",
            now=old,
        )
        trash.move([pet], deleted_by="ada", now=old)


@only_on_postgresql
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("model", "remove"),
    [
        (IdempotencyRecord, services._delete_expired_records),
        (ChangeSet, lambda now: undo._delete_expired(now, beyond=0)),
        (TrashedPet, lambda now: trash.delete_expired(now=now, beyond=0)),
    ],
    ids=["idempotency records", "change sets", "trash"],
)
def test_no_removal_waits_for_another(ada: User, model: type[models.Model], remove: Callable[[datetime], Any]) -> None:
    now = timezone.now()
    make_expired_rows(ada, now)
    assert model._default_manager.count() == 1

    with transaction.atomic():
        remove(now)
        without_waiting(transaction.atomic(lambda: remove(now)))

    assert not model._default_manager.exists()
