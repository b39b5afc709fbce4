"""Lists of pets under several conditions: list, count, Select all and export have exactly the pets that SQL finds."""

import csv
import io
import itertools
from typing import Any

import pytest
from django.contrib.admin import site
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client, RequestFactory
from django.urls import reverse

from pets.models import Pet
from store.models import InventoryItem
from tests.pets.admin.pet_pages import LIST

# Parts of the address of a list, with the condition that each stands for. More pets than a list counts have the words
# and the status that most have, and no list may take a part of them as all.
SEARCHES = {"": "1 = 1", "rex": "name LIKE 'Rex%'", "rex sir": "name LIKE 'Rex Sir%'"}
FILTERS = {
    ("", ""): "1 = 1",
    ("pending", ""): "status = 'pending'",
    ("available", "dog"): "status = 'available' AND tag = 'dog'",
    ("pending", "dog"): "status = 'pending' AND tag = 'dog'",
    ("sold", "dog"): "status = 'sold' AND tag = 'dog'",
}
ORDERS = {"name": "name, id", "-created_at": "created_at DESC, id DESC"}


def make_unkind_pets() -> None:
    """Create many pets with one word and one tag, and few with another status or tag, most of them without the word."""
    pets = [("Rex {:05}", "available", "dog", 10_500), ("Bella {:05}", "pending", "bird", 100)]
    pets += [("Bella {:05}", "pending", "dog", 10), ("Rex Sir {:05}", "sold", "dog", 10)]
    Pet.objects.bulk_create(
        (
            Pet(name=name.format(number), status=status, tag=tag)
            for name, status, tag, count in pets
            for number in range(count)
        ),
        batch_size=1000,
    )


def expected(condition: str, order: str = "name, id") -> list[str]:
    """Return the names of the pets that fit a condition, as the database finds them."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT name FROM pets_pet WHERE {condition} ORDER BY {order}")
        return [name for (name,) in cursor.fetchall()]


def test_list_count_select_all_and_export_are_those_of_sql(
    staff: Client, admin_user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On SQLite, a word that more pets have is searched in another way. So many pets would take the test too long.
    monkeypatch.setattr("pets.admin.search._MANY", 5000)
    make_unkind_pets()

    combinations = itertools.product(SEARCHES.items(), FILTERS.items(), ORDERS.items())
    for (q, named), ((status, tag), having), (parameter, order) in combinations:
        query = {"q": q, "status__exact": status, "tag": tag, "o": parameter}
        request = RequestFactory().get("/", query)
        request.user = admin_user
        names = expected(f"{named} AND {having}", order)
        model = InventoryItem if q and tag else Pet
        changelist: Any = site.get_model_admin(model).get_changelist_instance(request)
        assert [pet.name for pet in changelist.result_list] == names[:50], query
        assert str(changelist.result_count) == (f"{len(names)}" if len(names) <= 10_000 else "more than 10,000"), query
        assert changelist.can_select_all == (len(names) <= 10_000), query

    def exported(**query: str) -> Any:
        url = reverse("admin:pets_pet_export", query={"o": "name"} | query)
        page = " ".join(staff.get(url).content.decode().split())
        content = b"".join(staff.post(url, {"format": "csv"})).decode("utf-8-sig")
        return page, [row.get("name") for row in csv.DictReader(io.StringIO(content))], content

    page, names, _ = exported(q="rex", status__exact="pending")
    assert "Download 0 pets" in page
    assert names == []
    page, names, _ = exported(q="bella", tag="dog")
    assert "Download 10 pets" in page
    assert names == expected("name LIKE 'Bella%' AND tag = 'dog'")
    assert "The list has more than 10,000 pets." in exported(q="rex", status__exact="available", tag="dog")[2]

    def sell_all(query: str) -> None:
        posted = {"action": "mark_as_sold", "select_across": "1", "post": "yes", ACTION_CHECKBOX_NAME: "x"}
        assert staff.post(f"{LIST}?{query}", posted).status_code == 302

    sold = expected("status = 'sold'")
    sell_all("q=rex&status__exact=pending")
    assert expected("status = 'sold'") == sold
    sell_all("q=bella&status__exact=pending&tag=dog")
    assert expected("status = 'sold'") == expected("name LIKE 'Rex Sir%' OR name LIKE 'Bella%' AND tag = 'dog'")
