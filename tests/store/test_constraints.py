"""The invalid pets and counters that the database rejects."""

import pytest
from django.db import IntegrityError, transaction

from pets.models import Pet
from store.models import InventoryCounter

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(("field", "value"), [("status", "lost"), ("status", ""), ("name", ""), ("tag", "")])
def test_the_database_rejects_an_invalid_pet_and_an_invalid_change(field: str, value: str) -> None:
    Pet.objects.create(name="Tom")

    for write in (Pet.objects.create, Pet.objects.update):
        with pytest.raises(IntegrityError), transaction.atomic():
            write(**{"name": "Rex"} | {field: value})


def test_the_database_rejects_a_counter_with_an_unknown_status() -> None:
    with pytest.raises(IntegrityError):
        InventoryCounter.objects.create(status="lost", count=1)
