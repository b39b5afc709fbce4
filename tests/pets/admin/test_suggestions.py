"""The suggestions of an empty list."""

from html import unescape

import pytest
from django.test import Client

from pets.admin.lists import suggestions
from pets.models import Pet
from tests.backoffice.pages import text_of
from tests.pets.admin.pet_pages import LIST, listed, names


def suggested(client: Client, **query: str) -> dict[str, list[str]]:
    """Return the names of the pets that each suggestion finds, by its text."""
    page = client.get(LIST, query)
    assert page.context["cl"].result_count == 0
    found = {}
    for text, url in page.context["cl"].suggestions:
        assert text in unescape(text_of(page))
        found[text] = names(client, LIST + url)
    return found


def test_an_empty_list_suggests_what_finds_something(staff: Client) -> None:
    assert "No pets fit" not in text_of(staff.get(LIST))
    Pet.objects.create(name="Rex", tag="Dog", status="sold")
    Pet.objects.create(name="New York", tag="кот")
    Pet.objects.create(name="Барсик")

    assert suggested(staff, q="york dog") == {
        "Pets that “york” finds": ["New York"],
        "Pets that “dog” finds": ["Rex"],
    }
    assert suggested(staff, q="барсук") == {"Pets that “Барсик” finds": ["Барсик"]}
    assert suggested(staff, q="yo", status__exact="sold", creator="staff") == {
        "Pets that “yo” finds, without the filters": ["New York"],
        "All pets: status sold": ["Rex"],
    }
    assert suggested(staff, tag="КОТ", status__exact="sold") == {
        "All pets: status sold": ["Rex"],
        "All pets: tag “КОТ”": ["New York"],
    }
    assert suggested(staff, q="xyz") == suggested(staff, status__exact="pending") == suggested(staff, q="%") == {}
    assert staff.get(LIST, {"q": "rex"}).context["cl"].suggestions == []


def test_a_word_with_a_slip_suggests_the_nearest_one(staff: Client) -> None:
    for name in ("Rex of York", "Zoë", "Барсик", "Straße 5", "kaninchen"):
        Pet.objects.create(name=name, tag="Rabbit")
    meant = {"rabit": "Rabbit", "rxe": "Rex", "REY": "Rex", "rex rabbti": "rex Rabbit", "zoi": "Zoë"}
    meant |= {"strase": "Straße", "барсук": "Барсик", "kanninchen": "kaninchen"}

    found = {slip: listed(staff, q=slip).suggestions[0][0] for slip in meant}

    assert found == {slip: f"Pets that “{word}” finds" for slip, word in meant.items()}
    for other in ("crocodile", "tom", "%", "rabbit crocodile"):
        assert all("Rex" not in text and "crocodile" not in text for text in suggested(staff, q=other))


def test_only_so_many_of_the_newest_words_are_compared(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suggestions, "_MAX_COMPARED", 3)
    for name in ("crocodile", "alpha beta gamma delta"):
        Pet.objects.create(name=name)

    assert next(iter(suggested(staff, q="alpah"))) == "Pets that “alpha” finds"
    assert "crocodile" not in " ".join(suggested(staff, q="crocodlie"))
