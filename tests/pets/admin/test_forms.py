"""The forms that add, edit and delete a pet, also when two people edit the same pet."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from pets.admin import pages
from pets.models import Pet
from pets.services import create_pet
from store.services import inventory_counts
from tests.backoffice.pages import messages, read, send, submit
from tests.pets.admin.pet_pages import INVENTORY, histories, page_of


def test_staff_add_a_pet(staff: Client) -> None:
    submit(staff, reverse("admin:pets_pet_add"), "pet_form", {"name": "Żółw"})

    pet = Pet.objects.get()
    assert (pet.name, pet.tag, pet.status) == ("Żółw", None, "available")
    assert histories(staff, pet) == [("admin", "Added.")]


def test_staff_delete_a_pet_and_the_inventory_counts_one_less(staff: Client) -> None:
    pet = create_pet(name="Rex")

    staff.post(reverse("admin:pets_pet_delete", args=[pet.pk]), {"post": "yes"})

    assert not Pet.objects.exists()
    assert inventory_counts()["available"] == 0


@pytest.mark.parametrize("name", [" Rex ", "Rex\nthe second", "Rex\r\n", "a\rb"])
def test_editing_the_tag_keeps_the_name_exactly(staff: Client, name: str) -> None:
    pet = create_pet(name=name, tag="dog")
    # Browsers remove line breaks from a text input, and send those of a hidden input as CR LF.
    shown = name.replace("\r", "").replace("\n", "")
    hidden = name.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\r\n")

    submit(staff, page_of(pet), "pet_form", {"name": shown, "initial-name": hidden, "tag": "hound"})

    pet.refresh_from_db()
    assert (pet.name, pet.tag) == (name, "hound")
    assert histories(staff, pet) == [("admin", "Tag changed from “dog” to “hound”.")]


@pytest.mark.parametrize(("field", "value"), [("name", ""), ("name", "   "), ("name", "x" * 256), ("tag", "x" * 300)])
def test_a_form_with_text_that_the_api_rejects_is_rejected(staff: Client, field: str, value: str) -> None:
    response = submit(staff, reverse("admin:pets_pet_add"), "pet_form", {"name": "Rex", "tag": "dog", field: value})

    assert field in response.context["adminform"].form.errors
    assert not Pet.objects.exists()


@pytest.mark.parametrize("odd", ["nonsense", "01890A5D-AC96-774B-BCCE-B302099A8057", "%00", "_2F"])
def test_the_page_of_a_pet_that_does_not_exist_says_so(staff: Client, odd: str) -> None:
    response = staff.get(f"/admin/pets/pet/{odd}/change/", follow=True)

    assert ["Perhaps it was deleted?" in message for message in messages(response)] == [True]


def test_a_post_without_the_csrf_token_changes_nothing(admin_user: object) -> None:
    pet = create_pet(name="Rex")
    client = Client(enforce_csrf_checks=True)
    client.force_login(admin_user)  # type: ignore[arg-type]
    row = {"form-0-id": pet.pk, "initial-form-0-status": "available", "form-0-status": "sold", "_save": "Save"}

    for address, fields in {reverse("admin:pets_pet_add"): {"name": "Tom"}, INVENTORY: row}.items():
        assert client.post(address, fields).status_code == 403

    assert list(Pet.objects.values_list("name", "status")) == [("Rex", "available")]


# Two people edit the same pet.


@pytest.mark.parametrize(
    ("before", "theirs", "mine"),
    [
        ({"tag": "dog"}, {"tag": "hound"}, {"tag": "wolf"}),
        ({"tag": "dog"}, {"tag": None}, {"tag": "wolf"}),
        ({"tag": None}, {"tag": "dog"}, {"name": "Tom"}),
        ({"status": "available"}, {"status": "sold"}, {"status": "pending"}),
        ({"status": "available"}, {"status": "sold"}, {"name": "Tom"}),
        ({"name": "Rex"}, {"name": "Max"}, {"tag": "dog"}),
    ],
)
def test_a_change_by_someone_else_is_reported_and_not_overwritten(
    staff: Client, before: dict[str, Any], theirs: dict[str, Any], mine: dict[str, Any]
) -> None:
    pet = Pet.objects.create(**{"name": "Rex", **before})
    fields = read(staff, page_of(pet), "pet_form")
    Pet.objects.filter(pk=pet.pk).update(**theirs)
    stored = Pet.objects.values("name", "tag", "status").get()

    response = send(staff, page_of(pet), fields | mine)

    (field,) = theirs
    assert list(response.context["adminform"].form.errors) == [field]
    assert (
        f"Someone else changed this to {pages._quoted(theirs[field])}".replace("to sold", "to “sold”")
        in (response.context["adminform"].form.errors[field][0])
    )
    assert Pet.objects.values("name", "tag", "status").get() == stored


def test_a_second_save_overwrites_the_change_by_someone_else(staff: Client) -> None:
    pet = create_pet(name="Rex", tag="dog")
    fields = read(staff, page_of(pet), "pet_form") | {"tag": "wolf"}
    Pet.objects.filter(pk=pet.pk).update(tag="hound")
    rejected = send(staff, page_of(pet), fields)

    hidden = rejected.context["adminform"].form["tag"].as_hidden(only_initial=True)
    assert 'value="hound"' in hidden
    send(staff, page_of(pet), fields | {"initial-tag": "hound"})

    pet.refresh_from_db()
    assert pet.tag == "wolf"


def test_a_form_without_the_hidden_fields_overwrites_the_current_values(staff: Client) -> None:
    pet = create_pet(name="Rex", tag="dog")

    send(staff, page_of(pet), {"name": "Tom", "tag": "cat", "status": "sold"})
    assert Pet.objects.values_list("name", "tag", "status").get() == ("Tom", "cat", "sold")

    send(staff, INVENTORY, {"form-0-id": pet.pk, "form-0-status": "pending"})
    assert Pet.objects.values_list("name", "tag", "status").get() == ("Tom", "cat", "pending")
