"""The counts, the order and the pages of the lists of pets."""

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

from pets.models import Pet
from pets.services import create_pet
from petservice.admin_pages import bounded_paginator
from tests.pets.admin.pet_pages import LIST, listed, names, number_of
from tests.pets.admin.test_trash import TRASH
from tests.pets.changes import delete


def test_a_list_within_the_limit_has_a_count_and_offers_to_select_all_and_a_longer_one_says_more_than(
    staff: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded_paginator, "MAX_COUNTED", 60)
    Pet.objects.bulk_create(Pet(name="Rex") for _ in range(60))
    page = staff.get(LIST).content.decode()
    assert "Select all 60" in page
    assert "60 pets" in page
    assert "more than" not in page

    create_pet(name="Tom")

    page = staff.get(LIST).content.decode()
    assert "Select all more" not in page
    assert "To select all pets, filter the list to at most 60 pets." in page
    assert "more than 60 pets" in page
    page = staff.get(LIST, {"q": "re"}).content.decode()
    assert "60 results" in page
    assert "more than" not in page


def test_a_header_shows_the_order_and_reverses_it(staff: Client) -> None:
    create_pet(name="Rex")
    name = number_of(staff, "name")

    assert f"?o={name}" in staff.get(LIST).content.decode()
    assert f"?o=-{name}" in staff.get(LIST, {"o": name}).content.decode()
    assert "descending" in staff.get(LIST, {"o": f"-{name}"}).content.decode()


def test_a_url_cannot_select_an_order_or_a_count_without_an_index(staff: Client) -> None:
    for name in ("Tom", "Max"):
        create_pet(name=name)

    for query in ({"o": "9"}, {"o": "x"}, {"o": "-4.2"}, {"o": "2"}, {"_facets": "True"}):
        assert names(staff, **query) == ["Max", "Tom"], query


def test_links_of_a_list_of_all_pets_lead_to_such_lists(staff: Client) -> None:
    Pet.objects.bulk_create(Pet(name="Rex") for _ in range(60))

    page = staff.get(f"{LIST}?all=&q=").content.decode()

    assert set(re.findall(r'href="\?([^"]*o=1[^"]*)"', page)) == {"all=&amp;o=1.-4"}


def test_a_page_that_is_gone_becomes_the_nearest_one_with_the_same_search(staff: Client, admin_user: User) -> None:
    Pet.objects.bulk_create(Pet(name="Rex") for _ in range(101))
    Pet.objects.bulk_create(Pet(name="Tom", status="sold") for _ in range(101))

    def assert_nearest(narrowed: str) -> None:
        for number, page, count in ((99, 3, 1), (0, 1, 50)):
            found = listed(staff, f"{narrowed}&p={number}")
            assert [str(pet) for pet in found.result_list] == ["Rex"] * count
            assert (found.page_num, found.result_count) == (page, 101)

    assert_nearest(f"{LIST}?q=rex")
    assert_nearest(f"{LIST}?status__exact=available")
    delete(admin_user, *Pet.objects.all())
    assert_nearest(f"{TRASH}?q=rex")
