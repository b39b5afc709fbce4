"""The filters above the lists of pets."""

import re
from html import unescape

import pytest
from django.test import Client

from pets.models import Pet
from tests.backoffice.pages import fields_of, text_of
from tests.pets.admin.pet_pages import LIST

pytestmark = pytest.mark.once


def test_a_line_names_the_filters_in_use_and_opens_if_one_is_wrong(staff: Client) -> None:
    def line(**query: str) -> str:
        page = unescape(text_of(staff.get(LIST, query)))
        (shown,) = re.findall(r'<details class="filter-switch"(.*?)</summary>', page)
        return shown

    assert line() == "><summary>Filters"
    assert line(tag="dog") == "><summary>Tag “dog”"
    assert line(tag="dog", status__exact="sold", q="rex") == "><summary>Search “rex”, status sold, tag “dog”"
    assert line(no_tag="1", created_to="2026-11-21") == "><summary>No tag, created until 2026-11-21"
    assert line(created_from="yesterday") == " open><summary>Created from yesterday"


def test_the_form_above_the_list_keeps_everything_and_a_link_shows_all_pets(staff: Client) -> None:
    query = {"q": "tom", "tag": "a & b", "status__exact": "available", "created_to": "", "o": "1", "p": "1"}
    show_all = '<a href="?">All pets</a>'

    page = staff.get(LIST, query)

    kept = {"q": "tom", "tag": "a & b", "status__exact": "available", "o": "1"}
    assert {name: value for name, value in fields_of(page, "changelist-search").items() if value} == kept
    assert "changelist-filter" not in page.content.decode()
    assert show_all in page.content.decode()
    assert show_all not in staff.get(LIST).content.decode()


@pytest.mark.parametrize("event", ["created", "sold"])
def test_a_from_after_to_is_an_error_that_keeps_both_days(staff: Client, event: str) -> None:
    page = unescape(staff.get(LIST, {f"{event}_from": "2026-11-03", f"{event}_to": "2026-11-02"}).content.decode())

    assert f"{event.capitalize()} from 2026-11-03, {event} until 2026-11-02" in page
    assert "“From” is after “To”." in page
    assert f'name="{event}_from" value="2026-11-03"' in page
    assert f'name="{event}_to" value="2026-11-02"' in page


def test_an_invalid_filter_finds_nothing_and_says_what_is_wrong(staff: Client) -> None:
    Pet.objects.create(name="Rex", tag="dog")

    for query, error in (
        ({"created_from": "yesterday"}, "Write a day as year-month-day"),
        ({"created_to": "2026-13-01"}, "Write a day as year-month-day"),
        ({"tag": "\0"}, "Null characters"),
        ({"tag": "x" * 300}, "No pets fit"),
        ({"tag": "dog", "no_tag": "1"}, "Clear the tag, or untick “No tag”."),
        ({"status__exact": "x"}, "Choose one from the list"),
        ({"creator": "x"}, "Choose one from the list"),
    ):
        page = staff.get(LIST, query)
        assert (page.status_code, page.context["cl"].result_count) == (200, 0), query
        assert error in page.content.decode()


def test_conditions_that_no_filter_offers_are_rejected(staff: Client) -> None:
    for query in ("name__regex=(a%2B)%2B$", "name__contains=e", "created_at__year=2026", "id=1"):
        assert staff.get(f"{LIST}?{query}").status_code == 400, query
