"""A change of the selected or imported pets keeps what someone else does to them at the same time."""

from django.test import Client

from pets.models import Pet
from pets.services import create_pet
from tests.concurrent_write import only_on_postgresql, write_before
from tests.pets.admin.import_export import import_pages
from tests.pets.admin.test_bulk_actions import act


def give_to_a_wolf() -> None:
    Pet.objects.update(tag="wolf")


@only_on_postgresql
def test_a_tag_that_someone_sets_during_an_action_is_kept(staff: Client) -> None:
    pet = create_pet(name="Rex", tag="dog")

    with write_before('UPDATE "pets_pet"', give_to_a_wolf):
        act(staff, "set_tag", {}, pet, post="yes", new_tag="")

    assert Pet.objects.get().tag == "wolf"


@only_on_postgresql
def test_a_tag_that_someone_sets_during_an_import_is_kept(staff: Client) -> None:
    pet = create_pet(name="Rex", tag="dog")
    page = import_pages.upload(staff, f"id,name,tag\n{pet.pk},Max,hound\n")

    with write_before('INSERT INTO "pets_pet"', give_to_a_wolf):
        import_pages.confirm(staff, page)

    assert Pet.objects.values_list("name", "tag").get() == ("Max", "wolf")
