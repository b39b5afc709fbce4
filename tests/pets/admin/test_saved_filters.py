"""The filters that staff save under a name."""

import re
from html import unescape

import pytest
from django.test import Client

from pets.models import Pet, SavedFilter
from petservice.accounts import groups
from tests.backoffice.pages import messages, text_of
from tests.backoffice.staff import staff as staff_client
from tests.pets.admin.pet_pages import LIST, number_of, sent

pytestmark = pytest.mark.once(on="postgresql")

SAVED = f"{LIST}saved_filters/"
QUERY = "tag=guinea+pig&p=3&status__exact=sold&created_to=&q=+rex+&o=1"


def save(client: Client, name: str, query: str = QUERY) -> list[str]:
    return messages(sent(client, SAVED, {"name": name, "query": query}))


def test_a_filter_is_saved_shown_on_the_list_and_removed(staff: Client) -> None:
    Pet.objects.create(name="Rex", tag="guinea pig")
    page = text_of(staff.get(f"{LIST}?{QUERY.replace('p=3', 'p=1')}"))
    assert 'name="query" value="q=rex&amp;status__exact=sold&amp;tag=guinea+pig"' in page
    assert SAVED in page

    response = staff.post(SAVED, {"name": " Sold pigs ", "query": QUERY}, follow=True)
    assert messages(response) == ["The filter “Sold pigs” is saved. For you, it is a link above the list."]
    assert response.redirect_chain[-1][0] == f"{LIST}?q=rex&status__exact=sold&tag=guinea+pig"
    links = re.findall(r'<a href="([^"]*)">Sold pigs</a>\n', text_of(staff.get(LIST)))
    assert [unescape(link) for link in links] == ["?q=rex&status__exact=sold&tag=guinea+pig"]

    fields = {"filter": SavedFilter.objects.get().pk, "query": "tag=dog&x=1"}
    removed = staff.post(SAVED, fields, follow=True)
    assert messages(removed) == ["The filter “Sold pigs” is removed. No pet was changed."]
    assert removed.redirect_chain[-1][0] == f"{LIST}?tag=dog"
    assert "Sold pigs" not in text_of(staff.get(LIST))
    assert staff.get(SAVED).headers["Location"] == LIST  # after a login before the form


def test_an_order_is_saved_by_its_field_unless_it_is_the_usual_one_or_none(staff: Client) -> None:
    for query, order, saved in (
        ("tag=dog", number_of(staff, "-name"), "tag=dog&amp;o=-name"),
        ("tag=dog", "-created_at", "tag=dog"),
        ("q=rex", "name", "q=rex"),
        ("tag=dog", "x", "tag=dog"),
    ):
        assert f'name="query" value="{saved}"' in text_of(staff.get(f"{LIST}?{query}&o={order}"))


def test_saving_twice_changes_nothing_and_an_invalid_filter_and_another_one_of_the_same_name_are_not_saved(
    staff: Client,
) -> None:
    for _ in range(2):
        assert save(staff, "Mine") == ["The filter “Mine” is saved. For you, it is a link above the list."]
    for name, query, error in (
        ("Mine", "tag=dog", "Name: You have another filter named “Mine”."),
        ("  ", QUERY, "Name: This field is required."),
        ("x" * 61, QUERY, "at most 60 characters"),
        ("Nul\0", QUERY, "Null characters"),
        ("Empty", "o=1&p=2&q=++", "Filter: The list has no search and no filter."),
        ("Forged", "password__startswith=a&next=//evil", "Filter: The list has no search and no filter."),
        ("Long", f"q={'x' * 2000}", "at most 2000 characters"),
        ("Nul", "q=%00", "Filter: The list has no search and no filter."),
    ):
        (message,) = save(staff, name, query)
        assert error in message
        assert message.endswith("Nothing was saved.")
    assert SavedFilter.objects.get().query == "q=rex&status__exact=sold&tag=guinea+pig"


def test_filters_belong_to_one_account_and_a_shared_one_is_a_link_for_everybody_that_administrators_remove(
    staff: Client,
) -> None:
    other = staff_client(groups.PETS_AND_INVENTORY)
    shared = {"name": "Pigs", "query": "tag=pig", "is_shared": "1"}

    response = staff.post(SAVED, shared, follow=True)

    assert messages(response) == ["The filter “Pigs” is saved. For everybody, it is a link above the list."]
    save(staff, "Mine", "tag=dog")
    page = text_of(other.get(LIST))
    assert '<a href="?tag=pig">Pigs</a>' in page
    assert "shared by admin" in page
    assert "Remove the saved filter Pigs" not in page
    assert "Mine" not in page
    for pk in (*SavedFilter.objects.values_list("pk", flat=True), "x", "9" * 30, ""):
        assert messages(other.post(SAVED, {"filter": pk}, follow=True)) == ["This filter is removed already."]
    assert SavedFilter.objects.count() == 2
    assert save(other, "Mine") == ["The filter “Mine” is saved. For you, it is a link above the list."]
    assert save(staff, "Pigs", "tag=pig") == ["The filter “Pigs” is saved. For you, it is a link above the list."]
    assert "?tag=pig" not in text_of(other.get(LIST))
    other.post(SAVED, shared)
    pks = {filter.name: filter.pk for filter in SavedFilter.objects.filter(owner__username="someone")}
    assert "Remove the saved filter Pigs" in text_of(staff.get(LIST))
    told = [messages(sent(staff, SAVED, {"filter": pks[name]})) for name in ("Mine", "Pigs")]
    assert told == [["This filter is removed already."], ["The filter “Pigs” is removed. No pet was changed."]]
