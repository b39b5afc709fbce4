"""The filters above the lists of pets."""

import re
from datetime import UTC, datetime
from html import escape, unescape
from unicodedata import normalize

import pytest
from django.http import QueryDict
from django.test import Client

from pets import creator
from pets.models import Pet
from pets.services import create_pet
from pets.trash import write_with_sales
from tests.backoffice.pages import fields_of, text_of
from tests.pets.admin.pet_pages import LIST, names


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


def test_pets_are_filtered_and_sorted_by_the_day_of_sale(staff: Client) -> None:
    for name, day in (("Rex", 1), ("Tom", 2), ("Old", None)):
        sold_at = day and datetime(2026, 11, day, 23, 59, tzinfo=UTC)
        write_with_sales([Pet(name=name, status="sold", created_at=datetime(2026, 10, 1, tzinfo=UTC), sold_at=sold_at)])
    create_pet(name="Max")

    assert names(staff, sold_from="2026-11-02") == ["Tom"]
    assert names(staff, sold_to="2026-11-02") == ["Tom", "Rex"]
    assert names(staff, sold_to="9999-12-31") == ["Tom", "Rex"]
    assert names(staff, sold_from="2026-11-01", o="created_at", q="rex") == ["Rex"]
    assert names(staff, o="-sold_at")[:2] == names(staff, o="sold_at")[:1:-1] == ["Tom", "Rex"]
    page = unescape(staff.get(LIST, {"sold_from": "2026-11-02", "sold_to": "2026-11-01"}).content.decode())
    assert "1 filter: sold from 2026-11-02, sold until 2026-11-01" in page
    assert "“From” is after “To”." in page


def test_the_form_above_the_list_keeps_the_search_the_filters_and_the_order(staff: Client) -> None:
    query = {"q": "re", "status__exact": "sold", "tag": "dog", "creator": "staff", "created_from": "2026-11-01"}

    page = staff.get(LIST, query | {"o": "-1", "p": "1"})

    shown = fields_of(page, "changelist-search")
    assert {name: value for name, value in shown.items() if value} == query | {"o": "-1"}
    assert "changelist-filter" not in page.content.decode()


def test_a_line_names_the_filters_in_use_and_opens_if_one_is_wrong(staff: Client) -> None:
    def line(**query: str) -> str:
        page = unescape(text_of(staff.get(LIST, query)))
        (shown,) = re.findall(r'<details class="filter-switch"(.*?)</summary>', page)
        return shown

    assert line(q="rex") == "><summary>Filters"
    assert line(tag="dog") == "><summary>1 filter: tag “dog”"
    assert line(tag="dog", status__exact="sold", q="rex") == "><summary>2 filters: status sold, tag “dog”"
    assert line(no_tag="1", created_to="2026-11-21") == "><summary>2 filters: no tag, created until 2026-11-21"
    assert line(created_from="yesterday").startswith(" open><summary>1 filter: ")


def test_the_links_that_clear_keep_everything_else(staff: Client) -> None:
    query = {"q": "tom", "tag": "a & b", "status__exact": "available", "created_to": "", "o": "1", "p": "1"}

    page = staff.get(LIST, query)

    clear = page.context["cl"]
    assert QueryDict(clear.without_search[1:]).dict() == {"tag": "a & b", "status__exact": "available", "o": "1"}
    assert QueryDict(clear.without_filters[1:]).dict() == {"q": "tom", "o": "1"}
    for url in (clear.without_search, clear.without_filters):
        assert escape(url) in page.content.decode()
    cleared = staff.get(LIST).context["cl"]
    assert (cleared.without_search, cleared.without_filters) == ("", "")


def test_pets_are_filtered_by_creator_and_by_a_missing_tag(staff: Client) -> None:
    Pet.objects.create(name="Rex", tag="dog", created_by=creator.of_key("pets_test_Ab12Cd34", "Acme"))
    Pet.objects.create(name="Tom", created_by=creator.of_staff("key holder"))
    Pet.objects.create(name="Max", created_by=creator.of_command("import_pets"))
    Pet.objects.create(name="Tim", tag="unknown")

    kinds = ("api", "staff", "import", "unknown")
    assert [names(staff, creator=kind) for kind in kinds] == [["Rex"], ["Tom"], ["Max"], ["Tim"]]
    assert names(staff, no_tag="1") == ["Max", "Tom"]
    assert names(staff, no_tag="1", creator="staff", q="tom", status__exact="available") == ["Tom"]
    assert names(staff, no_tag="1", creator="api") == []
    page = staff.get(LIST, {"no_tag": "1", "tag": "dog"})
    assert "Clear the tag, or untick “No tag”." in page.content.decode()
    assert page.context["cl"].result_count == 0


def test_a_tag_is_found_in_each_case_that_is_in_use(staff: Client) -> None:
    for tag in ("собака", "Собака", "СОБАКА", "собакин", "собак", "Żuk", "żuk"):
        Pet.objects.create(name=tag, tag=tag)

    assert names(staff, tag="соБАка") == ["СОБАКА", "Собака", "собака"]
    assert names(staff, tag="ŻUK", status__exact="available") == ["żuk", "Żuk"]
    assert names(staff, tag="соба") == []


def test_a_from_after_to_is_an_error_that_keeps_both_days(staff: Client) -> None:
    create_pet(name="Rex")

    page = staff.get(LIST, {"created_from": "2026-11-03", "created_to": "2026-11-02"}).content.decode()

    assert "“From” is after “To”." in page
    assert 'name="created_from" value="2026-11-03"' in page
    assert 'name="created_to" value="2026-11-02"' in page


@pytest.mark.parametrize(
    "query",
    [
        {"created_from": "yesterday"},
        {"created_to": "2026-13-01"},
        {"tag": "\0"},
        {"tag": "x" * 300},
        {"status__exact": "x"},
        {"creator": "x"},
    ],
)
def test_an_invalid_filter_finds_nothing(staff: Client, query: dict[str, str]) -> None:
    create_pet(name="Rex", tag="dog")

    page = staff.get(LIST, query)

    assert page.status_code == 200
    assert page.context["cl"].result_count == 0
    assert bool(re.search("Write a day as year-month-day|Choose one from the list", page.content.decode())) == (
        "tag" not in query
    )


@pytest.mark.parametrize("query", ["name__regex=(a%2B)%2B$", "name__contains=e", "created_at__year=2026", "id=1"])
def test_conditions_that_no_filter_offers_are_rejected(staff: Client, query: str) -> None:
    assert staff.get(f"{LIST}?{query}").status_code == 400


def test_a_tag_is_found_among_many_with_the_same_beginning(staff: Client) -> None:
    others = [f"собака{number:03}" for number in range(150)]
    Pet.objects.bulk_create(Pet(name=tag, tag=tag) for tag in [*others, "собачка"])

    assert names(staff, tag="СОБАЧКА") == ["собачка"]
    assert staff.get(f"{LIST}tags/", {"q": "собач"}).json()["suggestions"] == ["собачка"]


def test_a_tag_is_found_in_other_forms_of_its_letters(staff: Client) -> None:
    decomposed = normalize("NFD", "Éclair")
    more = ("Éclair", "eclair", decomposed, "éclairs", "Йод", normalize("NFD", "йод"), "иод", "ﬁn", "FIN", "New  York")
    for tag in ("Straße", "STRASSE", "Strasbourg", "ｄｏｇ", "Dog", " dog\t", "ＤＯＧ", "ＺŻ", "zz", "newyork", *more):
        Pet.objects.create(name=tag, tag=tag)

    for text, tags in (
        ("strasse", ["STRASSE", "Straße"]),
        ("Straße", ["STRASSE", "Straße"]),
        ("DOG", [" dog\t", "Dog", "ＤＯＧ", "ｄｏｇ"]),
        (" Ｄog", [" dog\t", "Dog", "ＤＯＧ", "ｄｏｇ"]),
        ("zŻ", ["zz", "ＺŻ"]),
        ("ECLAIR", [decomposed, "eclair", "Éclair"]),
        ("éclair", [decomposed, "eclair", "Éclair"]),
        ("йод", [normalize("NFD", "йод"), "Йод"]),
        ("fin", ["FIN", "ﬁn"]),
        ("new york ", ["New  York"]),
    ):
        assert sorted(names(staff, tag=text)) == sorted(tags), text
    assert staff.get(f"{LIST}tags/", {"q": "strass"}).json()["suggestions"] == ["STRASSE"]


@pytest.mark.parametrize("query", [{"q": "rex"}, {"o": "1"}, {"status__exact": "available"}])
def test_the_last_day_of_the_calendar_excludes_nothing(staff: Client, query: dict[str, str]) -> None:
    create_pet(name="Rex")

    assert names(staff, created_to="9999-12-31", **query) == ["Rex"]
