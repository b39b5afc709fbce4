"""The version of a pet, which each change raises, whoever makes it."""

import pytest
from django.contrib.auth.models import User

from pets import trash
from pets.models import Pet, TrashedPet
from pets.services import create_pet
from tests.pets.changes import delete

pytestmark = pytest.mark.django_db


# REPLACE makes another pet of the same id.
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
