"""The suggestions of an empty list."""

from html import unescape

from django.test import Client

from pets.models import Pet
from tests.pets.admin.pet_pages import LIST, names


def suggested(client: Client, **query: str) -> dict[str, list[str]]:
    """Return the names of the pets that each suggestion finds, by its text."""
    page = client.get(LIST, query)
    assert page.context["cl"].result_count == 0
    found = {}
    for text, url in page.context["cl"].suggestions:
        assert text in unescape(page.content.decode())
        found[text] = [pet.name for pet in client.get(LIST + url).context["cl"].result_list]
    return found


def test_an_empty_list_suggests_what_finds_something(staff: Client) -> None:
    Pet.objects.create(name="Rex", tag="Dog", status="sold")
    Pet.objects.create(name="New York", tag="кот")
    Pet.objects.create(name="Барсик")

    assert suggested(staff, q="york dog") == {
        "Pets with the tag “Dog”": ["Rex"],
        "Pets that “york” finds": ["New York"],
        "Pets that “dog” finds": ["Rex"],
    }
    assert suggested(staff, q="Rexona") == {"Pets that “Rex” finds": ["Rex"]}
    assert suggested(staff, q="барсук") == {"Pets that “барс” finds": ["Барсик"]}
    assert suggested(staff, q="yo", status__exact="sold", creator="staff") == {
        "Pets that “yo” finds, without the filters": ["New York"],
        "All pets: status sold": ["Rex"],
    }
    assert suggested(staff, tag="КОТ", status__exact="sold") == {
        "All pets: status sold": ["Rex"],
        "All pets: tag “КОТ”": ["New York"],
    }
    assert suggested(staff, q="xyz") == suggested(staff, status__exact="pending") == suggested(staff, q="%") == {}


def test_a_list_with_pets_and_an_empty_service_suggest_nothing(staff: Client) -> None:
    assert "No pets fit" not in staff.get(LIST).content.decode()
    Pet.objects.create(name="Rex")

    page = staff.get(LIST, {"q": "rex"})
    assert page.context["cl"].suggestions == []
    assert names(staff, q="rex") == ["Rex"]
