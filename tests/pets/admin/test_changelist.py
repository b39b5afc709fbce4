"""The counts of the lists of pets."""

import pytest
from django.test import Client

from pets.admin import changelist
from pets.models import Pet
from pets.services import create_pet
from petservice.admin_pages import bounded_paginator
from tests.pets.admin.pet_pages import INVENTORY, LIST


@pytest.mark.parametrize("url", [LIST, INVENTORY])
def test_only_a_list_within_the_limit_of_actions_offers_to_select_all(
    staff: Client, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setattr(bounded_paginator, "MAX_COUNTED", 60)
    monkeypatch.setattr(changelist, "MAX_COUNTED", 60)
    Pet.objects.bulk_create(Pet(name="Rex") for _ in range(60))
    assert "Select all 60" in staff.get(url).content.decode()

    create_pet(name="Tom")

    page = staff.get(url).content.decode()
    assert "Select all more" not in page
    assert "To select all pets, filter the list to at most 60 pets." in page


def test_a_list_over_the_counting_limit_says_more_than(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_paginator, "MAX_COUNTED", 300)
    Pet.objects.bulk_create(Pet(name="Rex") for _ in range(300))
    assert "300 pets" in staff.get(LIST).content.decode()
    assert "more than" not in staff.get(LIST).content.decode()

    create_pet(name="Tom")

    assert "more than 300 pets" in staff.get(LIST).content.decode()
    assert "300 results" in staff.get(LIST, {"q": "re"}).content.decode()
    assert "more than" not in staff.get(LIST, {"q": "re"}).content.decode()


@pytest.mark.parametrize("narrowed", ["q=rex", "status__exact=available"])
def test_a_page_after_the_last_one_shows_the_last_one_with_its_search_and_filters(staff: Client, narrowed: str) -> None:
    Pet.objects.bulk_create(Pet(name="Rex") for _ in range(101))
    Pet.objects.bulk_create(Pet(name="Tom", status="sold") for _ in range(101))

    response = staff.get(f"{LIST}?{narrowed}&p=99")

    changelist = response.context["cl"]
    assert [pet.name for pet in changelist.result_list] == ["Rex"]
    assert (changelist.page_num, changelist.result_count) == (3, 101)
