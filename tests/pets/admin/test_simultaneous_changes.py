"""A change of the selected or imported pets keeps what someone else does to them at the same time."""

import pytest
from django.test import Client

from pets import trash
from pets.models import Pet
from pets.services import create_pet
from tests.concurrent_write import only_on_postgresql, write_before
from tests.pets.admin.import_export import import_pages
from tests.pets.admin.test_bulk_actions import act
from tests.pets.admin.test_trash import TRASH, deleted, row_of

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.once(on="postgresql")]


def give_to_a_wolf() -> None:
    Pet.objects.update(tag="wolf")


@only_on_postgresql
def test_a_tag_that_someone_sets_during_an_action_is_kept(staff: Client) -> None:
    pet = create_pet(name="Rex", tag="dog")

    with write_before('UPDATE "pets_pet"', give_to_a_wolf):
        act(staff, "remove_tag", {}, pet)

    assert Pet.objects.get().tag == "wolf"


@only_on_postgresql
def test_a_tag_that_someone_sets_during_an_import_is_kept(staff: Client) -> None:
    pet = create_pet(name="Rex", tag="dog")
    page = import_pages.upload(staff, f"id,name,tag\n{pet.pk},Max,hound\n")

    with write_before('INSERT INTO "pets_pet"', give_to_a_wolf):
        import_pages.confirm(staff, page)

    assert Pet.objects.values_list("name", "tag").get() == ("Max", "wolf")


@only_on_postgresql
def test_a_pet_that_is_deleted_for_good_is_not_put_back_at_the_same_time(staff: Client) -> None:
    pet = create_pet(name="Rex")
    deleted(staff, pet)
    row = row_of(pet)
    chosen = {"action": "delete_for_good", "index": 0, "_selected_action": [row.pk], "post": "yes", "selection": row.pk}

    with write_before('UPDATE "journal_item"', lambda: trash.put_back([row.pk])):
        staff.post(TRASH, chosen)

    row.refresh_from_db()
    assert (row.before, row.in_trash_until) == ({}, None)
    assert not Pet.objects.exists()
