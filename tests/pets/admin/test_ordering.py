"""The order of the lists of pets."""

import pytest
from django.test import Client

from pets.models import Pet
from pets.services import create_pet
from tests.pets.admin.pet_pages import LIST, names, number_of


def test_a_list_is_sorted_by_name_status_and_day_in_both_directions(staff: Client) -> None:
    for name, status in (("tom", "available"), ("Max", "sold"), ("rex", "pending"), ("Rex", "available")):
        Pet.objects.create(name=name, status=status)

    def sorted_by(column: str, **query: str) -> list[str]:
        return names(staff, o=number_of(staff, column), **query)

    for query in ({}, {"created_from": "2000-01-01", "creator": "unknown"}):
        assert sorted_by("name", **query) == ["Max", "rex", "Rex", "tom"]
        assert sorted_by("-name", **query) == ["tom", "Rex", "rex", "Max"]
        assert sorted_by("status", **query) == ["tom", "Rex", "rex", "Max"]
        assert sorted_by("-status", **query) == ["Max", "rex", "Rex", "tom"]
        assert sorted_by("created_at", **query) == ["tom", "Max", "rex", "Rex"]
        assert sorted_by("-created_at", **query) == ["Rex", "rex", "Max", "tom"]
    assert sorted_by("-status", q="re") == ["rex", "Rex"]
    assert sorted_by("-name", status__exact="available") == ["tom", "Rex"]


def test_a_header_shows_the_order_and_reverses_it(staff: Client) -> None:
    create_pet(name="Rex")
    name = number_of(staff, "name")

    assert f"?o={name}" in staff.get(LIST).content.decode()
    assert f"?o=-{name}" in staff.get(LIST, {"o": name}).content.decode()
    assert "descending" in staff.get(LIST, {"o": f"-{name}"}).content.decode()


def test_search_results_are_ordered_by_name_and_other_lists_by_age(staff: Client) -> None:
    for name in ("rex b", "Rex C", "REX a", "Tom"):
        create_pet(name=name)

    assert names(staff, q="rex") == ["REX a", "rex b", "Rex C"]
    assert names(staff) == ["Tom", "REX a", "Rex C", "rex b"]


@pytest.mark.parametrize("query", [{"o": "9"}, {"o": "x"}, {"o": "-4.2"}, {"o": "2"}, {"_facets": "True"}])
def test_a_url_cannot_select_an_order_or_a_count_without_an_index(staff: Client, query: dict[str, str]) -> None:
    for name in ("Tom", "Max"):
        create_pet(name=name)

    assert names(staff, **query) == ["Max", "Tom"]
