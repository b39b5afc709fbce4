"""The pages of the list together contain every pet exactly once."""

import re

import pytest
from django.test import Client

from pets.models import Pet

NEXT = re.compile(r'<http://testserver(/v1/pets\?[^>]*)>; rel="next"')


def make_pets(count: int) -> list[str]:
    """Create this many pets, and return their ids, oldest first."""
    pets = Pet.objects.bulk_create(Pet(name=f"Pet {number}") for number in range(count))
    return sorted(pet.id for pet in pets)


def next_page(link: str | None) -> str | None:
    """Return the target of a Link header, or None without a header."""
    if link is None:
        return None
    match = NEXT.fullmatch(link)
    assert match
    return match[1]


@pytest.mark.parametrize(
    ("target", "size"), [("/v1/pets", 100), ("/v1/pets?limit=77", 77), ("/v1/pets?limit=1001", 1000)]
)
def test_pages_contain_every_pet_once_while_pets_are_added(api: Client, target: str, size: int) -> None:
    at_start = make_pets(1100)
    seen: list[str] = []
    page: str | None = target

    while page is not None:
        response = api.get(page)
        seen += [pet["id"] for pet in response.json()]
        page = next_page(response.get("Link"))
        assert page is None or len(response.json()) == size
        api.post("/v1/pets", {"name": "Newcomer"}, content_type="application/json")

    assert seen == sorted(set(seen))
    assert seen[:1100] == at_start


def test_a_link_leads_to_the_pets_after_the_last_one_even_if_that_is_deleted(api: Client) -> None:
    ids = make_pets(5)

    link = next_page(api.get("/v1/pets?limit=2")["Link"])

    assert link == f"/v1/pets?limit=2&after={ids[1]}"
    assert [pet["id"] for pet in api.get(link).json()] == ids[2:4]
    Pet.objects.filter(pk=ids[1]).delete()
    assert [pet["id"] for pet in api.get(link).json()] == ids[2:4]
    for limit in ("?limit=4", "", "?limit=0"):
        assert "Link" not in api.get(f"/v1/pets{limit}"), limit
