"""The invalid pets and counters that the database rejects."""

import pytest
from django.db import IntegrityError

from pets.models import Pet
from store.models import InventoryCounter

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(("field", "value"), [("status", "lost"), ("status", ""), ("name", ""), ("tag", "")])
def test_the_database_rejects_an_invalid_pet(field: str, value: str) -> None:
    with pytest.raises(IntegrityError):
        Pet.objects.create(**{"name": "Rex"} | {field: value})


def test_the_database_rejects_an_invalid_change_of_a_pet() -> None:
    Pet.objects.create(name="Rex")

    with pytest.raises(IntegrityError):
        Pet.objects.update(status="lost")


def test_the_database_rejects_a_counter_with_an_unknown_status() -> None:
    with pytest.raises(IntegrityError):
        InventoryCounter.objects.create(status="lost", count=1)
