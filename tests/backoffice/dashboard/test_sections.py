"""The sections of the admin dashboard by permission, with an empty database, and the last changes."""

import re
from html import unescape

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from pets.services import create_pet
from pets.undo import undo
from petservice.accounts import groups
from petservice.apikeys.models import APIKey
from petservice.backoffice import dashboard, sales
from petservice.journal.models import Event
from store.models import InventoryItem
from tests.backoffice.dashboard.pages import NOW, log, page
from tests.backoffice.staff import granted, staff
from tests.pets.changes import mark, request_of

pytestmark = pytest.mark.django_db

KIND = Event.Kind


@pytest.mark.once
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


@pytest.mark.once
def test_staff_without_permissions_see_whom_to_ask() -> None:
    log(KIND.CHANGED, [create_pet(name="Rex")])

    shown = page(staff())

    assert "Your account has no permissions yet" in shown
    assert "Ask an administrator" in shown
    assert "Rex" not in shown
    assert "<h2" not in shown


@pytest.mark.once
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


# The last changes.


def changes(client: Client) -> list[str]:
    """Return the HTML of each change on the dashboard."""
    return re.findall(r'<li class="(?:add|change|delete)link">.*?</li>', page(client), re.DOTALL)


def name_in(change: str) -> str:
    return unescape(re.findall(r"<bdi>(.*?)</bdi>", change)[0])


def test_the_last_ten_changes_by_all_staff_are_shown_newest_first() -> None:
    client = staff(is_superuser=True)
    acme, _ = APIKey.objects.create_key(name="Acme")
    log(KIND.CHANGED, [acme] * dashboard.CHANGES)
    pets = [create_pet(name=f"Pet {number}") for number in range(8)]
    log(KIND.ADDED, pets)
    log(KIND.CHANGED, [get_user_model().objects.get(username="someone")])
    log(KIND.CHANGED, [acme])
    log(KIND.CHANGED, InventoryItem.objects.filter(pk=pets[0].pk))

    found = changes(client)
    shown = [name_in(change) for change in found]

    # A change without words is described by its kind, and not only by its icon.
    assert all(re.search('<span class="change-text">Added\\s*</span>', change) for change in found[3:])
    assert len(shown) == dashboard.CHANGES
    assert shown[0] == "Pet 0"
    assert shown[1].startswith("Acme")
    assert shown[2] == "someone"
    assert shown[3:] == [f"Pet {number}" for number in range(7, 0, -1)]


def test_a_change_shows_the_author_the_change_and_the_time() -> None:
    pet = create_pet(name="Rex")
    log(KIND.CHANGED, [pet], "Name changed from “Max” to “Rex”.")
    Event.objects.update(at=NOW)

    (change,) = changes(granted("view_pet"))

    assert f'<a href="{reverse("admin:pets_pet_history", args=[pet.pk])}"><bdi>Rex</bdi></a>' in change
    assert '<span class="model-name">pet</span>' in change
    assert "Name changed from “<bdi>Max</bdi>” to “<bdi>Rex</bdi>”." in change
    assert "<bdi>anna</bdi>" in change
    assert '<time datetime="2026-03-10T12:00:00+00:00">2026-03-10 12:00 UTC</time>' in change


def test_one_action_on_many_pets_is_one_line_with_its_undo_and_stays_visible_as_undone(admin_user: User) -> None:
    event = mark(admin_user, [create_pet(name=name) for name in ("Rex", "Tom", "Max")], "sold")
    url = reverse("admin:pets_recentchange_change", args=[event.pk])

    for may_undo, client in ((True, granted("view_pet", "change_pet")), (False, granted("view_pet", name="bo"))):
        (change,) = changes(client)
        assert "3 pets." in change
        assert (f'href="{url}"' in change) == may_undo
    undo(request_of(admin_user), event.pk)

    undone, change = changes(granted("view_pet", "change_pet", name="cy"))
    assert "Undone by <bdi>admin</bdi>." in change
    assert url not in undone + change


def test_changes_that_the_user_may_not_view_do_not_displace_others() -> None:
    log(KIND.CHANGED, [create_pet(name="Rex")])
    log(KIND.CHANGED, [APIKey.objects.create_key(name="Acme")[0]] * 2 * dashboard.CHANGES)

    assert [name_in(change) for change in changes(staff(groups.PETS_AND_INVENTORY))] == ["Rex"]


def test_the_link_of_a_deleted_pet_leads_to_its_history() -> None:
    goes = create_pet(name="Goes")
    log(KIND.DELETED, [goes], "Gone.")
    goes.delete()
    client = granted("view_pet")

    (url,) = re.findall(r'<a href="(/admin/pets/pet/[^"]+)"', "".join(changes(client)))

    assert "<td>Gone.</td>" in client.get(url).content.decode()
