"""The sections of the admin dashboard by permission, and with an empty database."""

import re

import pytest
from django.contrib.admin.models import CHANGE
from django.urls import reverse

from pets.services import create_pet
from petservice.apikeys.models import APIKey
from petservice.backoffice import sales
from tests.backoffice.dashboard.pages import log, page
from tests.backoffice.staff import granted, staff

pytestmark = [pytest.mark.django_db, pytest.mark.once]


@pytest.mark.parametrize(
    ("codename", "sections"),
    [
        ("view_inventoryitem", {"inventory", "changes"}),
        ("change_inventoryitem", {"inventory", "changes"}),
        ("view_pet", {"sales", "changes"}),
        ("change_pet", {"sales", "changes"}),
        ("view_apikey", {"keys", "changes"}),
        ("add_pet", set()),
        ("delete_pet", set()),
    ],
)
def test_each_section_is_shown_to_users_who_may_view_what_it_counts(codename: str, sections: set[str]) -> None:
    create_pet(name="Rex")
    APIKey.objects.create_key(name="Acme")

    shown = page(granted(codename))

    assert set(re.findall(r'<h2 id="(\w+)-title">', shown)) == sections


def test_staff_without_permissions_see_whom_to_ask() -> None:
    log(CHANGE, [create_pet(name="Rex")])

    shown = page(staff())

    assert "Your account has no permissions yet" in shown
    assert "Ask an administrator" in shown
    assert "Rex" not in shown
    assert "<h2" not in shown


def test_the_dashboard_of_an_empty_database_says_how_to_begin() -> None:
    shown = page(staff(is_superuser=True))

    assert "There are no pets yet" in shown
    assert f'<a href="{reverse("admin:pets_pet_add")}">add the first one</a>' in shown
    assert "There are no API keys yet" in shown
    assert f'<a href="{reverse("admin:apikeys_apikey_add")}">Create the first one</a>' in shown
    assert f"No pets were created or sold in the last {sales.DAYS} days" in shown
    assert "No changes yet." in shown
    viewer = page(granted("view_pet", "view_inventoryitem", "view_apikey", name="viewer"))
    for text in ("There are no pets yet", "There are no API keys yet"):
        assert text in viewer
    assert "first one" not in viewer
