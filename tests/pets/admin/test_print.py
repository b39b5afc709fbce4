"""The page with all pets of a list, for paper."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from pets.admin.lists import export_page
from pets.models import Pet
from tests.backoffice.staff import granted

URL = "/admin/pets/pet/print/"

pytestmark = [pytest.mark.django_db, pytest.mark.once]


def names(page: str) -> list[str]:
    return re.findall(r'<th scope="row"><bdi>([^<]*)</bdi></th>', page)


def test_the_page_has_all_pets_of_the_list_in_its_order_or_says_that_it_is_cut(
    staff: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    Pet.objects.bulk_create(Pet(name=f"Rex {number:02}", tag="dog") for number in range(70))
    Pet.objects.create(name="Tom")

    page = staff.get(URL, {"tag": "DOG", "o": "name"}).content.decode()

    assert names(page) == [f"Rex {number:02}" for number in range(70)]
    assert "70 pets: tag “<bdi>DOG</bdi>”." in page
    assert f'href="{reverse("admin:pets_pet_changelist")}?o=name&amp;tag=DOG"' in page
    monkeypatch.setattr(export_page, "MAX_PRINTED", 2)
    page = staff.get(URL).content.decode()
    assert len(names(page)) == 2
    assert "71 pets." in page
    assert "Only the first 2 are on this page." in page
    assert f'href="{URL}?tag=DOG"' in staff.get(reverse("admin:pets_pet_changelist"), {"tag": "DOG"}).content.decode()


def test_the_page_names_no_api_key() -> None:
    Pet.objects.create(name="Rex", created_by="key Secret")

    assert "Secret" not in granted("view_pet").get(URL).content.decode()
