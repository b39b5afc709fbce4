"""The invalid pets and counters that the database rejects."""

import pytest
from django.db import IntegrityError, transaction

from pets.models import Pet
from store.models import InventoryCounter

pytestmark = pytest.mark.django_db


def test_the_database_rejects_an_invalid_pet_an_invalid_change_and_an_invalid_counter() -> None:
    Pet.objects.create(name="Tom")

    for invalid in ({"status": "lost"}, {"status": ""}, {"name": ""}, {"tag": ""}):
        for write in (Pet.objects.create, Pet.objects.update):
            with pytest.raises(IntegrityError), transaction.atomic():
                write(**{"name": "Rex"} | invalid)
    with pytest.raises(IntegrityError):
        InventoryCounter.objects.create(status="lost", count=1)
