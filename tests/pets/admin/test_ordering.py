"""The order of the lists of pets."""

import pytest
from django.test import Client

from pets.services import create_pet
from tests.pets.admin.pet_pages import LIST, names, number_of

pytestmark = pytest.mark.once


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
