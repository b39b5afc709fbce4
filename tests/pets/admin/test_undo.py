"""The undoing of changes by staff, also when others changed the pets after them."""

import re
from datetime import datetime
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from pets import trash
from pets.models import Pet, TrashedPet
from petservice.journal.models import Event
from store.services import inventory_counts
from tests.backoffice.pages import messages, read, submit, text_of, undo_url
from tests.backoffice.staff import granted, logged_in
from tests.pets.admin.import_export.import_pages import confirm as confirm_import
from tests.pets.admin.import_export.import_pages import upload
from tests.pets.admin.pet_pages import LIST, edit, histories, names, undo, versions_shown
from tests.pets.admin.test_bulk_actions import act, confirm
from tests.pets.changes import PAST, delete, sell_all

RECENT = reverse("admin:pets_recentchange_changelist")
TOO_LATE = "This change was undone already, or it was made more than an hour ago. Nothing was changed."


def values() -> set[tuple[Any, ...]]:
    """Return all values of all pets."""
    return set(Pet.objects.values_list())


def test_a_bulk_change_is_undone_except_where_someone_changed_the_status_since(staff: Client, admin_user: User) -> None:
    pets = [Pet.objects.create(name=name, tag="dog") for name in ("Rex", "Tom", "Max", "Mia", "Kim")]
    Pet.objects.filter(name="Tom").update(status="pending")
    changed = act(staff, "mark_as_sold", versions_shown(staff), *pets)
    assert inventory_counts() == {"available": 0, "pending": 0, "sold": 5}
    Pet.objects.filter(name="Rex").update(status="available")
    edit(staff, pets[1], {"tag": "hound"})
    undo(staff, act(staff, "mark_as_pending", {}, pets[2]))
    delete(admin_user, Pet.objects.get(name="Mia"))
    for status in ("available", "sold"):  # back to what the undone change has made of it
        edit(staff, pets[4], {"status": status})

    page = text_of(staff.get(undo_url(changed)))
    response = undo(staff, changed)

    assert "<dt>Pets</dt><dd>5</dd>" in page
    assert "It can be undone until " in page
    assert page.count("Status changed from ") == 5
    assert messages(response) == [
        "Not undone for pets that have changed since: “Rex”, “Mia”, “Kim”.",
        "The change of 2 pets is undone.",
    ]
    assert set(Pet.objects.values_list("name", "tag", "status")) == {
        ("Rex", "dog", "available"),
        ("Tom", "hound", "pending"),
        ("Max", "dog", "available"),
        ("Kim", "dog", "sold"),
    }
    assert ("admin", "Undone: Status changed from sold to pending.") in histories(staff, pets[1])
    told = ["Undone by admin" in text_of(staff.get(reverse("admin:pets_pet_history", args=[pet.pk]))) for pet in pets]
    assert told == [False, True, True, False, False]
    entry = Event.objects.filter(kind=Event.Kind.UNDONE).latest("pk")
    assert (entry.count, entry.message) == (2, "5 pets marked as sold. By admin. Left alone: 3.")
    assert Event.objects.get(undone_by=entry).count == 5
    assert reverse("admin:journal_event_change", args=[entry.pk]) in text_of(staff.get(reverse("admin:index")))


def test_a_later_change_counts_as_one_if_its_undo_left_the_pet_alone(staff: Client) -> None:
    rex, tom = Pet.objects.create(name="Rex", tag="dog"), Pet.objects.create(name="Tom", tag="dog")
    first = edit(staff, rex, {"tag": "hound"})
    second = act(staff, "set_tag", {}, rex, tom, post="yes", new_tag="cat")
    Pet.objects.filter(pk=rex.pk).update(tag="hound")  # by another program
    undo(staff, second)

    response = undo(staff, first)

    assert messages(response)[0] == "Not undone for pets that have changed since: “Rex”."
    assert set(Pet.objects.values_list("name", "tag")) == {("Rex", "hound"), ("Tom", "dog")}


def test_a_pet_that_was_put_back_and_deleted_again_or_for_good_stays_deleted(staff: Client, admin_user: User) -> None:
    rex, tom = Pet.objects.create(name="Rex"), Pet.objects.create(name="Tom")
    deleted = confirm(staff, act(staff, "delete_selected", {}, rex, tom))
    trash.put_back([TrashedPet.objects.get(record_name="Rex").pk])
    delete(admin_user, Pet.objects.get())
    TrashedPet.objects.filter(record_name="Tom").update(before={}, in_trash_until=None)

    assert messages(undo(staff, deleted)) == ["Not undone for pets that have changed since: “Rex”, “Tom”."]
    assert TrashedPet.objects.get().record_name == "Rex"


def test_the_undo_of_an_import_removes_added_pets_and_restores_changed_ones(staff: Client) -> None:
    rex, tom = Pet.objects.create(name="Rex", tag="dog"), Pet.objects.create(name="Tom")
    sell_all()
    file = f"id,name,tag,status\n{rex.pk},Max,cat,pending\n{tom.pk},Tim,,available\n,New,,\n,Edited,,\n"
    imported = confirm_import(staff, upload(staff, file))
    Pet.objects.filter(name="Edited").update(tag="fish")
    Pet.objects.filter(name="Tim").update(name="Tam")

    response = undo(staff, imported)

    assert messages(response)[-1] == ("The change of 2 pets is undone.")
    assert messages(response)[0].startswith("Not undone for pets that have changed since: ")
    assert set(Pet.objects.values_list("name", "tag", "status", "sold_at")) == {
        ("Rex", "dog", "sold", PAST),
        ("Tam", None, "available", None),
        ("Edited", "fish", "available", None),
    }
    assert TrashedPet.objects.get().record_name == "New"
    assert Event.objects.get(kind=Event.Kind.UNDONE).count == 2


@pytest.mark.parametrize("sold_at", [PAST, None])
def test_the_undo_of_an_edit_restores_the_time_of_the_sale(staff: Client, sold_at: datetime | None) -> None:
    pet = Pet.objects.create(name="Rex")
    sell_all(sold_at)

    for edited in ({"name": "Tom"}, {"name": "Tom", "status": "available"}):
        undo(staff, edit(staff, pet, edited))
        assert Pet.objects.values_list("name", "status", "sold_at").get() == ("Rex", "sold", sold_at)


def test_a_repeated_late_or_unknown_undo_changes_nothing(staff: Client) -> None:
    pet = Pet.objects.create(name="Rex")
    changed = act(staff, "mark_as_sold", {}, pet)
    undo(staff, changed)
    Pet.objects.update(status="sold")

    urls = [
        undo_url(changed),
        *(reverse("admin:pets_recentchange_change", args=[pk]) for pk in ("x", pet.pk, "9" * 30, "9" * 5000)),
    ]
    again = [staff.post(url, follow=True) for url in urls]
    Event.objects.update(undone_by=None, at=timezone.now() - Event.UNDO_PERIOD)
    again += [staff.post(urls[0], follow=True), staff.get(urls[0], follow=True)]

    assert [messages(response) for response in again] == [[TOO_LATE]] * 7
    assert [response.redirect_chain for response in again] == [[(RECENT, 302)]] * 7
    assert Pet.objects.get().status == "sold"


def test_a_change_of_few_pets_is_undone_by_the_button_of_the_message_which_leads_back_to_the_same_list(
    admin_user: User,
) -> None:
    client = logged_in(admin_user, enforce_csrf_checks=True)
    rabbits = [Pet.objects.create(name=f"Rabbit {number}", tag="rabbit & hare") for number in range(21)]
    filtered = f"{LIST}?status__exact=available&tag=rabbit+%26+hare"

    def mark(*pets: Pet, **fields: str) -> str:
        fields["csrfmiddlewaretoken"] = read(client, filtered, "changelist-form")["csrfmiddlewaretoken"]
        shown = versions_shown(client, filtered)
        return str(*act(client, "mark_as_sold", shown, *pets, url=filtered, **fields).context["messages"])

    message = mark(rabbits[0])
    (url,) = map(unescape, re.findall('action="(.+?)"', message))
    client.get(url)  # which undoes nothing
    assert client.post(url).status_code == 403  # without its token
    assert Pet.objects.get(pk=rabbits[0].pk).status == "sold"
    undone = client.post(url, dict(re.findall('name="(.+?)" value="(.+?)"', message)), follow=True)

    assert messages(undone) == ["The change of 1 pet is undone."]
    assert undone.redirect_chain == [(filtered, 302)]
    assert set(Pet.objects.values_list("status", flat=True)) == {"available"}
    # More pets than that need a look at the page first.
    assert "<form" not in mark(*rabbits, post="yes")


def test_undoing_needs_the_permissions_that_the_change_needed(staff: Client) -> None:
    stranger, clerk = granted("change_pet", "delete_pet"), granted("change_inventoryitem", name="bo")
    changed = act(clerk, "mark_as_sold", {}, Pet.objects.create(name="Rex"))
    imported = confirm_import(staff, upload(staff, "name\nTom\n"))
    adder = granted("add_pet", "view_pet", name="di")
    added = submit(adder, reverse("admin:pets_pet_add"), "pet_form", {"name": "Max"})

    for client, response, status in (
        (stranger, changed, 403),
        (stranger, imported, 403),
        (clerk, imported, 403),
        (clerk, added, 403),
        (granted(name="cy"), changed, 403),
        (adder, added, 302),
        (clerk, changed, 302),
    ):
        assert client.post(undo_url(response)).status_code == status
        assert (Event.objects.latest("pk").kind == Event.Kind.UNDONE) == (status == 302)
    assert dict(Pet.objects.values_list("name", "status")) == {"Rex": "available", "Tom": "available"}
    assert names(clerk, RECENT) == ["Sold: “Rex” marked as sold."]
    assert "There are no changes of the last hour that you may undo." in text_of(stranger.get(RECENT))
    assert "/admin/journal/event/" not in text_of(clerk.get(reverse("admin:index")))  # only administrators may see it
    assert names(staff, RECENT) == [
        *("Added: “Max” added.", "Imported: Import: 1 pet added, 0 changed.", "Sold: “Rex” marked as sold.")
    ]
    link = f'<a href="{undo_url(imported)}" aria-label="Undo: Import: 1 pet added, 0 changed.">'
    assert link in staff.get(RECENT).content.decode()


def test_a_change_that_was_undone_stays_on_all_pages_with_the_name_of_the_person(staff: Client) -> None:
    pet = Pet.objects.create(name="Rex")
    changed = act(staff, "mark_as_sold", {}, pet)
    pages = {"pets_pet_history": [pet.pk], "journal_event_change": [Event.objects.latest("pk").pk]}
    pages |= {"pets_recentchange_changelist": [], "journal_event_changelist": [], "index": []}
    urls = [reverse(f"admin:{page}", args=arguments) for page, arguments in pages.items()]

    undo(staff, changed)

    for url in urls:
        page = text_of(staff.get(url)).replace("</dt><dd>", " ")
        assert page.count("Undone by admin") == 1, url
        assert undo_url(changed) not in page, url
    assert "Undone: “Rex” marked as sold. By admin." in text_of(staff.get(reverse("admin:index")))
    Event.objects.update(at=timezone.now() - Event.UNDO_PERIOD)
    assert names(staff, RECENT) == []
    assert histories(staff, pet) == [
        ("admin", "Undone: Status changed from sold to available."),
        ("admin", "Status changed from available to sold."),
    ]
