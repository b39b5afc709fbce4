"""The last changes on the dashboard."""

import re
from html import unescape

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from pets.services import create_pet
from petservice.accounts import groups
from petservice.apikeys.models import APIKey
from petservice.backoffice import dashboard
from petservice.journal.models import Event
from store.models import InventoryItem
from tests.backoffice.dashboard_page import NOW, log, page
from tests.backoffice.staff import granted, staff
from tests.pets.changes import mark

pytestmark = [pytest.mark.django_db, pytest.mark.once(on="postgresql")]


def changes(client: Client) -> list[str]:
    """Return the HTML of each change on the dashboard."""
    return re.findall(r'<li class="(?:add|change|delete)link">.*?</li>', page(client), re.DOTALL)


def name_in(change: str) -> str:
    return unescape(re.findall(r"<bdi>(.*?)</bdi>", change)[0])


def test_the_last_ten_changes_by_all_staff_are_shown_newest_first() -> None:
    client = staff(is_superuser=True)
    acme, _ = APIKey.objects.create_key(name="Acme")
    log(Event.Kind.CHANGED, [acme] * dashboard.CHANGES)
    pets = [create_pet(name=f"Pet {number}") for number in range(8)]
    log(Event.Kind.ADDED, pets)
    log(Event.Kind.CHANGED, [User.objects.get(username="someone")])
    log(Event.Kind.CHANGED, [acme])
    log(Event.Kind.CHANGED, InventoryItem.objects.filter(pk=pets[0].pk))

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
    log(Event.Kind.CHANGED, [pet], "Name changed from “Max” to “Rex”.")
    Event.objects.update(at=NOW)

    (change,) = changes(granted("view_pet"))

    assert f'<a href="{reverse("admin:pets_pet_history", args=[pet.pk])}"><bdi>Rex</bdi></a>' in change
    assert '<span class="model-name">pet</span>' in change
    assert "Name changed from “<bdi>Max</bdi>” to “<bdi>Rex</bdi>”." in change
    assert "<bdi>anna</bdi>" in change
    assert '<time datetime="2026-03-10T12:00:00+00:00">2026-03-10 12:00 UTC</time>' in change


def test_one_action_on_many_pets_is_one_line_with_its_undo(admin_user: User) -> None:
    event = mark(admin_user, [create_pet(name=name) for name in ("Rex", "Tom", "Max")], "sold")
    url = reverse("admin:pets_recentchange_change", args=[event.pk])

    for may_undo, client in ((True, granted("view_pet", "change_pet")), (False, granted("view_pet", name="bo"))):
        (change,) = changes(client)
        assert "3 pets." in change
        assert (f'href="{url}"' in change) == may_undo


def test_changes_that_the_user_may_not_view_do_not_displace_others() -> None:
    log(Event.Kind.CHANGED, [create_pet(name="Rex")])
    log(Event.Kind.CHANGED, [APIKey.objects.create_key(name="Acme")[0]] * 2 * dashboard.CHANGES)

    assert [name_in(change) for change in changes(staff(groups.PETS_AND_INVENTORY))] == ["Rex"]


def test_the_link_of_a_deleted_pet_leads_to_its_history() -> None:
    goes = create_pet(name="Goes")
    log(Event.Kind.DELETED, [goes], "Gone.")
    goes.delete()
    client = granted("view_pet")

    (url,) = re.findall(r'<a href="(/admin/pets/pet/[^"]+)"', "".join(changes(client)))

    assert "<td>Gone.</td>" in client.get(url).content.decode()
