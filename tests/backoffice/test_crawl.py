"""Every page of every registered admin, as everyone who might open it."""

from collections.abc import Iterator

import pytest
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.core.management import call_command
from django.db import models
from django.test import Client
from django.urls import reverse

from pets.models import Pet
from pets.services import create_pet
from petservice.apikeys.models import APIKey
from petservice.backoffice import groups
from tests.backoffice.staff import staff

pytestmark = pytest.mark.django_db

PET_PAGES = {"pets_pet", "store_inventoryitem"}
KEY_PAGES = {"apikeys_apikey"}
ALL_PAGES = {f"{model._meta.app_label}_{model._meta.model_name}" for model in admin.site._registry}

WHO = {
    "superuser": (lambda: staff(is_superuser=True), ALL_PAGES),
    "pets and inventory": (lambda: staff(groups.PETS_AND_INVENTORY), PET_PAGES),
    "and keys": (lambda: staff(groups.PETS_INVENTORY_AND_KEYS), PET_PAGES | KEY_PAGES),
    "bare staff": (staff, set()),
}


def addresses() -> Iterator[tuple[str, str]]:
    """(page group, address) of the list, a search in it, the add and the change and history page of one record."""
    create_pet(name="Rex <b>", tag="狗")
    APIKey.objects.create_key(name="Acme")
    Group.objects.get_or_create(name="Any")
    get_user_model().objects.get_or_create(username="any")
    for model in admin.site._registry:
        page = f"{model._meta.app_label}_{model._meta.model_name}"
        yield page, reverse(f"admin:{page}_changelist")
        yield page, reverse(f"admin:{page}_changelist") + "?q=Re"
        if page != "store_inventoryitem":  # nothing is added there, as a test below shows
            yield page, reverse(f"admin:{page}_add")
        yield from ((page, address) for address in _record_addresses(page, model))
    key = APIKey.objects.get()
    for verb in ("revoke", "rotate"):
        yield "apikeys_apikey", reverse(f"admin:apikeys_apikey_{verb}", args=[key.pk])


def _record_addresses(page: str, model: type[models.Model]) -> Iterator[str]:
    record = model._default_manager.first()
    assert record is not None, f"make a {model.__name__} for the walk"
    for kind in ("change", "history"):
        yield reverse(f"admin:{page}_{kind}", args=[record.pk])


@pytest.mark.parametrize("who", WHO)
def test_staff_open_what_they_may_and_nothing_else(who: str) -> None:
    make_client, allowed = WHO[who]
    client = make_client()

    answers = {address: (page, client.get(address).status_code) for page, address in addresses()}

    assert answers == {address: (page, 200 if page in allowed else 403) for address, (page, status) in answers.items()}


@pytest.mark.parametrize("page", ["change", "history", "delete"])
@pytest.mark.parametrize("group", sorted(PET_PAGES | KEY_PAGES))
def test_staff_are_not_told_which_records_there_are_not_where_they_may_see_none(group: str, page: str) -> None:
    missing = "01890a5d-ac96-774b-bcce-b302099a8057" if group in PET_PAGES else "4711"

    assert staff().get(reverse(f"admin:{group}_{page}", args=[missing])).status_code == 403


def test_the_front_page_opens_for_all_staff() -> None:
    assert staff().get(reverse("admin:index")).status_code == 200


def test_a_stranger_is_sent_to_the_login_from_every_page() -> None:
    for _page, address in [("", reverse("admin:index")), *addresses()]:
        response = Client().get(address)

        assert response.status_code == 302, address
        assert response["Location"].startswith(reverse("admin:login")), address


def test_the_address_without_its_slash_leads_to_the_front_page() -> None:
    assert Client().get("/admin")["Location"] == reverse("admin:index")


def test_a_user_who_is_no_staff_is_sent_to_the_login() -> None:
    client = Client()
    client.force_login(get_user_model().objects.create_user("customer"))

    assert client.get(reverse("admin:pets_pet_changelist")).status_code == 302


def test_inventory_items_are_not_added_or_deleted_even_by_a_superuser() -> None:
    client = staff(is_superuser=True)
    pet = create_pet(name="Rex")

    assert client.get(reverse("admin:store_inventoryitem_add")).status_code == 403
    assert client.post(reverse("admin:store_inventoryitem_delete", args=[pet.pk]), {"post": "yes"}).status_code == 403
    assert Pet.objects.filter(pk=pet.pk).exists()


def test_the_groups_are_made_once_and_left_as_staff_change_them() -> None:
    group = Group.objects.get(name=groups.PETS_AND_INVENTORY)
    group.permissions.clear()

    call_command("migrate", verbosity=0)

    assert not group.permissions.exists()
