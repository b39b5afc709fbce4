"""The search, filters, order and suggestions of the list of pets."""

import re
from datetime import UTC, datetime
from html import unescape

import pytest
from django.test import Client

from pets.admin import changelist, filters, pages, tag_suggestions
from pets.models import Pet
from pets.services import create_pet
from petservice import bounded_paginator
from tests.backoffice.pages import messages
from tests.pets.admin.pet_pages import INVENTORY, LIST, names


@pytest.mark.parametrize(
    ("name", "terms"),
    [
        ("Rex", ["rE", "REX", "r"]),
        ("Żółw", ["żółw", "ŻÓŁW", "żÓł", "Żół"]),
        ("Ångström-Épée", ["ångström-épée", "ÅNGSTRÖM-ÉPÉE", "ÅNGström"]),
        ("Константинополь", ["константинополь", "КОНСТАНТИНОПОЛЬ", "КОНСТАНТИНО", "к"]),
        ("たま", ["たま", "た"]),
        ("50% off_", ["50% OFF_", "50%"]),
        ("a.c(", ["A.C("]),
        ("😀cat", ["😀CAT"]),
    ],
)
def test_a_search_finds_the_start_of_a_name_in_any_case(staff: Client, name: str, terms: list[str]) -> None:
    create_pet(name=name)
    for other in ("Tom", f"T-{name}", "50 off", "abc(", "Жук", "まり"):
        create_pet(name=other)

    assert {term: name in names(staff, q=term) for term in terms} == dict.fromkeys(terms, True)
    assert names(staff, q=name) == [name]


def test_a_search_does_not_find_a_name_that_only_begins_like_the_text(staff: Client) -> None:
    create_pet(name="Константинополь")

    assert names(staff, q="Константинов") == []
    assert names(staff, q="Константинополь и") == []


def test_a_search_finds_an_id(staff: Client) -> None:
    pet = create_pet(name="Rex")
    create_pet(name="Tom")

    assert names(staff, q=pet.pk) == names(staff, q=pet.pk.upper()) == ["Rex"]


def test_a_search_ignores_white_space_around_the_text(staff: Client) -> None:
    pet = create_pet(name="Rex")
    create_pet(name="Tom")

    for term in (f" {pet.pk}", f"{pet.pk}\n", " rex", "rex\t", "\N{NO-BREAK SPACE}rex"):
        assert names(staff, q=term) == ["Rex"]
    assert names(staff, q="  ") == ["Tom", "Rex"]


def test_a_search_finds_a_name_that_looks_like_an_id(staff: Client) -> None:
    create_pet(name="01890a5d-ac96-774b-bcce-b302099a8057 the second")

    assert len(names(staff, q="01890a5d-ac96-774b-bcce-b302099a8057")) == 1


def test_search_results_are_ordered_by_name_and_other_lists_by_age(staff: Client) -> None:
    for name in ("rex b", "Rex C", "REX a", "Tom"):
        create_pet(name=name)

    assert names(staff, q="rex") == ["REX a", "rex b", "Rex C"]
    assert names(staff) == ["Tom", "REX a", "Rex C", "rex b"]


def test_the_search_box_has_a_help_text(staff: Client) -> None:
    assert "Search by full ID or by the start of a name." in staff.get(LIST).content.decode()


def test_pets_are_filtered_by_status_tag_and_day(staff: Client) -> None:
    for name, tag, status, day in (
        ("Rex", "Dog", "sold", 1),
        ("Tom", "cat", "sold", 2),
        ("Max", "DOG", "available", 3),
        ("Żuk", "Żuk", "available", 4),
        ("Tim", None, "pending", 5),
    ):
        Pet.objects.create(name=name, tag=tag, status=status, created_at=datetime(2026, 11, day, 23, 59, tzinfo=UTC))

    assert names(staff, status__exact="sold") == ["Tom", "Rex"]
    assert names(staff, tag="dog") == ["Max", "Rex"]
    assert names(staff, tag="żuk") == ["Żuk"]
    assert names(staff, tag="do") == []
    assert names(staff, created_from="2026-11-02", created_to="2026-11-03") == ["Max", "Tom"]
    assert names(staff, created_from="2026-11-05") == ["Tim"]
    assert names(staff, created_to="2026-11-01") == ["Rex"]
    assert names(staff, created_to="9999-12-31") == ["Tim", "Żuk", "Max", "Tom", "Rex"]
    assert names(staff, tag="dog", status__exact="sold", q="r") == ["Rex"]


def test_a_filter_keeps_the_search_and_the_other_filters(staff: Client) -> None:
    page = staff.get(LIST, {"q": "re", "tag": "dog", "created_from": "2026-11-01"})

    for spec in page.context["cl"].filter_specs:
        if isinstance(spec, filters.InputFilter):
            (choice,) = spec.choices(page.context["cl"])
            others = {"q": "re", "tag": "dog", "created_from": "2026-11-01"}
            assert choice["others"] == {name: value for name, value in others.items() if name not in spec.labels}


def test_a_from_after_to_is_an_error_that_keeps_both_days(staff: Client) -> None:
    create_pet(name="Rex")

    page = staff.get(LIST, {"created_from": "2026-11-03", "created_to": "2026-11-02"}).content.decode()

    assert "“From” is after “To”." in page
    assert 'name="created_from" value="2026-11-03"' in page
    assert 'name="created_to" value="2026-11-02"' in page


def test_show_all_keeps_the_filters(staff: Client) -> None:
    create_pet(name="Rex", tag="a & b")

    page = staff.get(LIST, {"q": "tom", "tag": "a & b", "p": "1", "status__exact": "available"}).content.decode()

    (query,) = re.findall(r'<a href="([^"]*)">Show all</a>', page)
    page = staff.get(LIST + unescape(query))
    assert page.context["cl"].params == {"tag": "a & b", "status__exact": "available"}
    assert [pet.name for pet in page.context["cl"].result_list] == ["Rex"]


@pytest.mark.parametrize(
    "query", [{"created_from": "yesterday"}, {"created_to": "2026-13-01"}, {"tag": "\0"}, {"tag": "x" * 300}]
)
def test_an_invalid_filter_finds_nothing(staff: Client, query: dict[str, str]) -> None:
    create_pet(name="Rex", tag="dog")

    page = staff.get(LIST, query)

    assert page.status_code == 200
    assert page.context["cl"].result_count == 0
    assert ("Write a day as year-month-day" in page.content.decode()) == ("tag" not in query)


@pytest.mark.parametrize("query", ["name__regex=(a%2B)%2B$", "name__contains=e", "created_at__year=2026", "id=1"])
def test_conditions_that_no_filter_offers_are_rejected(staff: Client, query: str) -> None:
    assert staff.get(f"{LIST}?{query}").status_code == 400


@pytest.mark.parametrize("query", [{"o": "1"}, {"o": "-4.2"}, {"_facets": "True"}])
def test_a_url_cannot_select_an_order_or_a_count_without_an_index(staff: Client, query: dict[str, str]) -> None:
    for name in ("Tom", "Max"):
        create_pet(name=name)

    assert names(staff, **query) == ["Max", "Tom"]


def test_a_filter_checks_a_limited_number_of_names_and_shows_a_warning(
    staff: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "MAX_COUNTED", 2)
    for name, status in (("Rex a", "available"), ("rex b", "sold"), ("Rex c", "sold")):
        Pet.objects.create(name=name, status=status)

    page = staff.get(LIST, {"q": "rex", "status__exact": "sold"})
    assert [pet.name for pet in page.context["cl"].result_list] == ["rex b"]
    assert ["names starting with “rex”" in message for message in messages(page)] == [True]

    page = staff.get(LIST, {"q": "rex c", "status__exact": "sold"})
    assert [pet.name for pet in page.context["cl"].result_list] == ["Rex c"]
    assert messages(page) == []
    assert names(staff, q="rex") == ["Rex a", "rex b", "Rex c"]


def test_tags_are_suggested_from_those_in_use(staff: Client) -> None:
    for tag in ("dog", "Dog", "dingo", "cat", "DRAGON", "Żuk", "żuk", None):
        Pet.objects.create(name="Rex", tag=tag)

    def suggestions(text: str) -> list[str]:
        return [tag.lower() for tag in staff.get(f"{LIST}tags/", {"q": text}).json()["suggestions"]]

    assert suggestions("d") == ["dingo", "dog", "dragon"]
    assert suggestions("D") == ["dingo", "dog", "dragon"]
    assert suggestions("ż") == ["żuk"]
    assert suggestions("") == ["cat", "dingo", "dog", "dragon", "żuk"]
    assert suggestions("x\0") == []


def test_the_number_of_suggested_tags_is_limited(staff: Client) -> None:
    Pet.objects.bulk_create(Pet(name="Rex", tag=f"tag {number:03}") for number in range(50))

    suggestions = staff.get(f"{LIST}tags/", {"q": "TAG"}).json()["suggestions"]

    assert suggestions == [f"tag {number:03}" for number in range(tag_suggestions._MAX_SUGGESTIONS)]


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
