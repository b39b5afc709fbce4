"""The lists of pets: counts, orders, searches and filters, the suggestions of an empty one, and who created a pet."""

import re
from collections.abc import Callable
from html import unescape
from urllib.parse import urljoin, urlsplit

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from pets import creator
from pets.admin.lists import suggestions
from pets.models import Pet
from pets.search.tags import spellings_in_use
from pets.search.words import having, search
from petservice.accounts.groups import PETS_AND_INVENTORY
from petservice.admin_pages import bounded_paginator
from tests.backoffice.pages import fields_of, submit, text_of
from tests.backoffice.staff import staff as staff_with
from tests.pets.admin.pet_pages import LIST, listed, names, number_of, page_of


def test_a_list_within_the_limit_has_a_count_and_offers_to_select_all_and_a_longer_one_says_more_than(
    staff: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded_paginator, "MAX_COUNTED", 1200)
    Pet.objects.bulk_create(Pet(name="Rex") for _ in range(1200))
    page = staff.get(LIST).content.decode()
    for text in ("1,200 pets", "Select all 1,200 pets", "All 1,200 selected"):
        assert text in page
    assert "more than" not in page

    Pet.objects.create(name="Tom")

    page = staff.get(LIST).content.decode()
    assert "Select all more" not in page
    assert "To select all pets, filter the list to at most 1,200 pets." in page
    assert "more than 1,200 pets\n(these are the first 1,000; filter, search or sort for others)" in page
    page = staff.get(LIST, {"q": "re"}).content.decode()
    assert "1,200 results" in page
    assert "more than" not in page


def test_a_header_shows_the_order_and_reverses_it(staff: Client) -> None:
    Pet.objects.create(name="Rex")
    name = number_of(staff, "name")

    assert f"?o={name}" in staff.get(LIST).content.decode()
    assert f"?o=-{name}" in staff.get(LIST, {"o": name}).content.decode()
    assert "descending" in staff.get(LIST, {"o": f"-{name}"}).content.decode()


def test_the_links_of_a_row_open_the_pet_which_leads_back_to_the_list_and_its_history(staff: Client) -> None:
    rex = Pet.objects.create(name="Rex")
    for query in ("", "?q=re&o=4"):
        page = staff.get(f"{LIST}{query}").content.decode()
        opened = re.findall('<a href="([^"]*)"[^>]*>(?:Rex|History)</a>', page)
        pet, history = (urljoin(LIST, unescape(url)) for url in opened)

        assert urlsplit(pet).path == page_of(rex)
        assert history == reverse("admin:pets_pet_history", args=[rex.pk])
        response = staff.post(pet, fields_of(staff.get(pet), "pet_form"))
        assert response["Location"] == f"{LIST}{query}"


def test_a_url_cannot_select_an_order_or_a_count_without_an_index(staff: Client) -> None:
    for name in ("Tom", "Max"):
        Pet.objects.create(name=name)

    for query in ({"o": "9"}, {"o": "x"}, {"o": "-4.2"}, {"o": "2"}, {"_facets": "True"}):
        assert names(staff, **query) == ["Max", "Tom"], query


# The filters above the list.


def test_a_line_names_the_filters_in_use_and_opens_if_one_is_wrong(staff: Client) -> None:
    def line(**query: str) -> str:
        page = unescape(text_of(staff.get(LIST, query)))
        (shown,) = re.findall(r'<details class="filter-switch"(.*?)</summary>', page)
        return shown

    assert line() == line(tag="  ") == "><summary>Filters"
    assert line(tag="dog") == "><summary>Tag “dog”"
    assert line(tag="dog", status__exact="sold", q="rex") == "><summary>Search “rex”, Status “Sold”, Tag “dog”"
    assert line(no_tag="1", created_to="2026-11-21") == "><summary>No tag, Created to “2026-11-21”"
    assert (
        line(sold_from="2026-11-02", sold_to="2026-11-03") == "><summary>Sold from “2026-11-02”, Sold to “2026-11-03”"
    )
    assert line(created_from="yesterday", tag="x") == " open><summary>An invalid filter, which nothing fits, Tag “x”"


def test_the_form_above_the_list_keeps_everything_and_a_link_shows_all_pets(staff: Client) -> None:
    # Also days in the wrong order.
    kept = {"q": "tom", "tag": "a & b", "sold_from": "2026-11-03", "sold_to": "2026-11-02", "o": "1"}
    show_all = '<a href="?">All pets</a>'

    page = staff.get(LIST, kept | {"created_to": "", "p": "1"})

    assert {name: value for name, value in fields_of(page, "changelist-search").items() if value} == kept
    assert "changelist-filter" not in page.content.decode()
    assert show_all in page.content.decode()
    assert show_all not in staff.get(LIST).content.decode()


def test_an_invalid_filter_finds_nothing_and_says_what_is_wrong(staff: Client) -> None:
    Pet.objects.create(name="Rex", tag="dog")

    for query, error in (
        ({"created_from": "yesterday"}, "Write a day as year-month-day"),
        ({"created_to": "2026-13-01"}, "Write a day as year-month-day"),
        ({"created_from": "2026-11-03", "created_to": "2026-11-02"}, "“From” is after “To”."),
        ({"sold_from": "2026-11-03", "sold_to": "2026-11-02"}, "“From” is after “To”."),
        ({"tag": "\0"}, "Null characters"),
        ({"tag": "x" * 300}, "No pets fit"),
        ({"tag": "dog", "no_tag": "1"}, "Clear the tag, or untick “No tag”."),
        ({"status__exact": "x"}, "is not one of the available choices"),
        ({"creator": "x"}, "is not one of the available choices"),
    ):
        page = staff.get(LIST, query)
        assert (page.status_code, page.context["cl"].result_count) == (200, 0), query
        assert error in page.content.decode()


@pytest.mark.parametrize(
    "name", ["ﷺ" * 255, "﷽" * 255, "ß" * 255, "'" * 255, '\\ & | ! :* ( ) <-> " AND NOT', "ΐ" * 255, "eⅡ \u0301"]
)
def test_any_name_can_be_written_and_found(db: None, name: str) -> None:
    pet = Pet.objects.create(name=name, tag=name)

    if any(map(str.isalpha, name)):
        assert [*search(Pet.objects.all(), name)] == [pet]
    assert (spellings_in_use(name), [*search(Pet.objects.all(), "zebra")]) == ([name], [])
    if connection.vendor == "sqlite":
        assert [*having(Pet.objects.all(), [name], ["available"], [])] == [pet]


def test_signs_next_to_a_word_are_left_out_of_a_search(db: None) -> None:
    pets = {Pet.objects.create(name=f"{sign}Ｒｅｘ´") for sign in "´™\u061c\u20e3\U000e007f׳־፡་฿゠㍿㋿℮𐆠𑑍𝠀🯆"}

    assert {*search(Pet.objects.all(), "rex´")} == pets


# Suggestions.


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
        "All pets that “york” finds": ["New York"],
        "All pets that “dog” finds": ["Rex"],
    }
    assert suggested(staff, q="барсук") == {"All pets that “Барсик” finds": ["Барсик"]}
    assert suggested(staff, q="yo", status__exact="sold") == {"All pets that “yo” finds": ["New York"]}
    assert (
        suggested(staff, q="xyz") == suggested(staff, tag="КОТ", status__exact="sold") == suggested(staff, q="%") == {}
    )
    assert staff.get(LIST, {"q": "rex"}).context["cl"].suggestions == []


def test_a_word_with_a_slip_suggests_the_nearest_one(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suggestions, "_TOGETHER", 1)
    for name in ("rex rabbit", "Rex of York", "Zoë", "Барсик", "Straße 5", "kaninchen"):
        Pet.objects.create(name=name, tag="Rabbit")
    meant = {"rabit": "Rabbit", "rxe": "Rex", "REY": "Rex", "rex rabbti": "rex Rabbit", "zoee": "Zoë"}
    meant |= {"strase": "Straße", "барсук": "Барсик", "kanninchen": "kaninchen", "rabit crocodile": "Rabbit"}

    found = {slip: listed(staff, q=slip).suggestions[0][0] for slip in meant}

    assert found == {slip: f"All pets that “{word}” finds" for slip, word in meant.items()}
    assert len(listed(staff, q="rabit rabbti").suggestions) == 2  # “Rabbit Rabbit”, and “Rabbit” once
    for other in ("crocodile", "tom", "%", "rabbit crocodile"):
        assert all("Rex" not in text and "crocodile" not in text for text in suggested(staff, q=other))


def test_only_so_many_of_the_newest_words_are_compared(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suggestions, "_MAX_COMPARED", 3)
    monkeypatch.setattr(suggestions, "_TOGETHER", 1)
    for name in ("crocodile", "alpha beta gamma delta"):
        Pet.objects.create(name=name)

    assert next(iter(suggested(staff, q="alpah"))) == "All pets that “alpha” finds"
    assert "crocodile" not in " ".join(suggested(staff, q="crocodlie"))


# The creators.


def creators(client: Client) -> dict[str, str]:
    """Return the creators that the list shows, by the names of the pets."""
    shown = client.get(LIST).content.decode()
    cells = [cell.split("</td>")[0].partition(">")[2] for cell in shown.split('<td class="field-created_by_')[1:]]
    return dict(zip(names(client), cells, strict=True))


def test_staff_see_who_created_a_pet_and_without_permission_for_keys_only_that_it_was_the_api(
    staff: Client, create_key: Callable[..., str]
) -> None:
    key = create_key(name="Acme's web shop")
    client = Client(headers={"X-API-Key": key})
    client.post("/v1/pets", {"name": "By client"}, content_type="application/json")
    client.post("/v1/pets", {"name": "By retry"}, content_type="application/json", headers={"Idempotency-Key": "once"})
    submit(staff, reverse("admin:pets_pet_add"), "pet_form", {"name": "By staff"})
    Pet.objects.create(name="By SQL")
    Pet.objects.create(name="By file", created_by=creator.of_command("import_pets"))

    link = f'<a href="/admin/apikeys/apikey/?q={key[:18]}">Acme&#x27;s web shop</a>'
    others = {"By staff": "admin", "By SQL": "unknown", "By file": "Import command"}
    assert creators(staff) == {"By client": link, "By retry": link} | others
    client = staff_with(PETS_AND_INVENTORY)
    assert creators(client) == {"By client": "API", "By retry": "API"} | others
    for one in (client, staff):
        page = one.get(page_of(Pet.objects.get(name="By SQL"))).content.decode()
        assert '<div class="readonly">unknown</div>' in page
    for pet in Pet.objects.all():
        for url in (LIST, page_of(pet)):
            page = client.get(url).content.decode()
            assert "Acme" not in page
            without_chance = re.sub(r'value="\w{64}"', "", page)  # the CSRF token is random
            assert "key" not in without_chance.replace("keyboard", "").lower()
