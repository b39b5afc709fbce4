"""The version of a pet, which each change raises, whoever makes it."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from pets import trash
from pets.models import Pet, TrashedPet
from pets.services import create_pet
from tests.pets.changes import delete
from tests.store.writes import WRITES, Write, sql_replace

pytestmark = pytest.mark.django_db


def versions() -> dict[str, tuple[Any, int]]:
    return {pet.pk: ((pet.name, pet.tag, pet.status), pet.version) for pet in Pet.objects.all()}


# REPLACE makes another pet of the same id.
@pytest.mark.parametrize("write", [write for write in WRITES if write is not sql_replace])
def test_each_writer_raises_the_versions_of_the_pets_that_it_changes(write: Write) -> None:
    Pet.objects.bulk_create(Pet(name="Rex", status=status) for status in ("available", "sold") * 2)
    before = versions()

    write(1, "available", "sold")

    after = versions()
    assert {version for pk, (_, version) in after.items() if pk not in before} <= {1, 2, 3}
    changed = [pk for pk in before.keys() & after.keys() if before[pk][0] != after[pk][0]]
    assert [pk for pk in changed if after[pk][1] <= before[pk][1]] == []


def test_a_writer_with_an_old_copy_of_a_pet_raises_the_present_version() -> None:
    pet = create_pet(name="Rex")
    Pet.objects.update(tag="dog")
    Pet.objects.update(tag="cat")

    pet.save()
    assert Pet.objects.get().version == 4
    Pet.objects.bulk_create([pet], update_conflicts=True, unique_fields=["id"], update_fields=["name"])

    assert Pet.objects.get().version == 5


def test_a_pet_that_is_put_back_has_the_version_that_it_had(admin_user: User) -> None:
    create_pet(name="Rex")
    Pet.objects.update(tag="dog")
    delete(admin_user, Pet.objects.get())

    trash.put_back([TrashedPet.objects.get().pk])

    assert Pet.objects.get().version == 2
