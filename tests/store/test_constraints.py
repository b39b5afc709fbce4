"""Pets and counters that the database rejects."""

import pytest
from django.db import IntegrityError

from pets.models import Pet
from store.models import InventoryCounter


@pytest.mark.django_db
@pytest.mark.parametrize(("field", "value"), [("status", "lost"), ("status", ""), ("name", ""), ("tag", "")])
def test_the_database_refuses_a_pet_that_cannot_be(field: str, value: str) -> None:
    with pytest.raises(IntegrityError):
        Pet.objects.create(**{"name": "Rex"} | {field: value})


@pytest.mark.django_db
def test_the_database_refuses_to_make_a_pet_impossible() -> None:
    Pet.objects.create(name="Rex")

    with pytest.raises(IntegrityError):
        Pet.objects.update(status="lost")


@pytest.mark.django_db
def test_the_database_refuses_a_counter_of_an_unknown_status() -> None:
    with pytest.raises(IntegrityError):
        InventoryCounter.objects.create(status="lost", count=1)
