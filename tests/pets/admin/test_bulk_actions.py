"""The actions on many pets of a list, also when someone else changes the pets after the list was shown."""

from typing import Any

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from pets.admin.changes.undo_pages import MAX_UNCONFIRMED
from pets.models import Pet
from pets.services import create_pet
from petservice.admin_pages.bounded_paginator import MAX_COUNTED
from store.services import inventory_counts
from tests.backoffice.pages import fields_of, messages, read, text_of
from tests.pets.admin.pet_pages import LIST, histories, sent, someone_else_edits, undo, versions_shown

NOTHING_CHANGED = "Nothing was changed: 1 pet had this status already."


def act(client: Client, action: str, shown: dict[str, str], *pets: Pet, url: str = LIST, **fields: Any) -> Any:
    """Run an action on pets, with the fields of the list as it was shown."""
    selection = {"action": action, "index": 0, "_selected_action": [pet.pk for pet in pets]}
    return sent(client, url, shown | selection | fields)


def confirm(client: Client, page: Any, url: str = LIST, **fields: str) -> Any:
    """Send the form of a page that asks, with these fields changed."""
    return sent(client, url, fields_of(page, "confirmation") | fields)


def test_a_pet_that_someone_else_changed_is_left_alone_and_named(staff: Client) -> None:
    rex, tom = create_pet(name="Rex", tag="dog"), create_pet(name="Tom", tag="dog")
    Pet.objects.update(status="pending")
    versions = read(staff, f"{LIST}?tag=dog", "changelist-form")
    someone_else_edits("Rex", status="sold")

    response = act(staff, "mark_as_available", versions, rex, tom, url=f"{LIST}?tag=dog")

    assert messages(response) == [
        "1 pet was not changed, because someone else changed it in the meantime: “Rex” (status sold).",
        "1 pet marked as available.",
    ]
    assert dict(Pet.objects.values_list("name", "status")) == {"Rex": "sold", "Tom": "available"}
    assert histories(staff, rex) == [("bea", "Status changed from pending to sold.")]
    assert histories(staff, tom) == [("admin", "Status changed from pending to available.")]


def test_a_pet_that_left_the_filtered_list_is_named_as_well(staff: Client) -> None:
    rex = create_pet(name="Rex")
    url = f"{LIST}?status__exact=available"
    versions = versions_shown(staff, url)
    someone_else_edits("Rex", status="sold")

    for fields in ({}, {"select_across": "1"}):
        response = act(staff, "mark_as_pending", versions, rex, url=url, **fields)

        assert messages(response) == [
            "1 pet was not changed, because someone else changed it in the meantime: “Rex” (status sold).",
        ]
    assert Pet.objects.get().status == "sold"


def test_a_change_of_another_field_and_its_undo_are_no_obstacle(staff: Client) -> None:
    rex, tom = create_pet(name="Rex"), create_pet(name="Tom")
    versions = versions_shown(staff)
    undo(staff, someone_else_edits("Rex", tag="dog"))
    someone_else_edits("Tom", name="Tim", tag="dog")

    assert messages(act(staff, "mark_as_sold", versions, rex, tom)) == ["2 pets marked as sold."]


def test_a_change_and_its_undo_since_the_list_was_shown_are_noticed(staff: Client) -> None:
    rex = create_pet(name="Rex")
    versions = versions_shown(staff)
    undo(staff, someone_else_edits("Rex", status="sold"))

    assert messages(act(staff, "mark_as_pending", versions, rex))[0] == (
        "1 pet was not changed, because someone else changed it in the meantime: “Rex” (status available)."
    )


def test_pets_that_another_program_changed_are_left_alone_although_no_record_says_what_changed(staff: Client) -> None:
    rex, tom = create_pet(name="Rex"), create_pet(name="Tom")
    someone_else_edits("Rex", tag="dog")  # before the list was shown, so this is not what changed
    versions = versions_shown(staff)
    Pet.objects.update(status="pending")
    Pet.objects.update(status="available")

    both = act(staff, "mark_as_sold", versions, rex, tom)
    one = act(staff, "mark_as_sold", versions, tom)

    assert messages(both)[0] == (
        "2 pets were not changed, because someone else changed them in the meantime: “Rex”, “Tom”."
    )
    assert messages(one)[0] == "1 pet was not changed, because someone else changed it in the meantime: “Tom”."
    assert set(Pet.objects.values_list("status", flat=True)) == {"available"}


def test_of_many_pets_that_someone_else_changed_ten_are_named(staff: Client) -> None:
    pets = Pet.objects.bulk_create(Pet(name=f"Pet {number:02}") for number in range(12))
    versions = versions_shown(staff)
    act(staff, "mark_as_sold", {}, *pets)

    response = act(staff, "mark_as_pending", versions, *pets)

    names = ", ".join(f"“Pet {number:02}” (status sold)" for number in range(10))
    assert messages(response)[0] == (
        f"12 pets were not changed, because someone else changed them in the meantime: {names} and 2 more."
    )


def test_a_pet_that_has_the_wanted_status_already_needs_no_warning(staff: Client) -> None:
    rex = create_pet(name="Rex")
    versions = versions_shown(staff)
    Pet.objects.update(status="sold")

    assert messages(act(staff, "mark_as_sold", versions, rex)) == [NOTHING_CHANGED]
    assert histories(staff, rex) == []


def test_a_pet_that_someone_else_deleted_is_counted(staff: Client) -> None:
    rex, tom = create_pet(name="Rex"), create_pet(name="Tom")
    versions = versions_shown(staff)
    Pet.objects.filter(name="Rex").delete()

    assert messages(act(staff, "mark_as_sold", versions, rex, tom)) == [
        "1 pet was not changed, because someone else deleted it in the meantime.",
        "1 pet marked as sold.",
    ]


def test_pets_are_deleted_after_a_confirmation_that_names_them(staff: Client) -> None:
    rex, tom = Pet.objects.create(name="Rex <b>", tag="dog", status="sold"), create_pet(name="Tom")
    create_pet(name="Max")
    versions = versions_shown(staff)

    page = act(staff, "delete_selected", versions, rex, tom, url=f"{LIST}?created_from=2026-01-01")

    assert Pet.objects.count() == 3
    assert "<dt>Filter of the list</dt><dd>created from 2026-01-01" in page.content.decode()
    assert "Delete 2 pets? Deleted pets stay in the trash for 30 days." in page.content.decode()
    assert "<dt>Pets</dt><dd>“Rex &lt;b&gt;”, “Tom”" in text_of(page)
    assert messages(confirm(staff, page)) == ["2 pets deleted."]
    assert [pet.name for pet in Pet.objects.all()] == ["Max"]


def test_a_pet_that_someone_else_changed_is_not_deleted(staff: Client) -> None:
    pets = [create_pet(name=name) for name in ("Rex", "Tom", "Max")]
    versions = versions_shown(staff)
    someone_else_edits("Rex", status="pending")

    page = act(staff, "delete_selected", versions, *pets)

    assert "Delete 3 pets?" in page.content.decode()
    someone_else_edits("Tom", status="sold")
    assert messages(confirm(staff, page)) == [
        "2 pets were not deleted, because someone else changed them in the meantime: “Rex” (status pending), “Tom” "
        "(status sold).",
        "“Max” deleted.",
    ]
    assert {pet.name for pet in Pet.objects.all()} == {"Rex", "Tom"}


def test_a_pet_whose_texts_someone_else_changed_is_not_deleted(staff: Client) -> None:
    pets = [create_pet(name=name, tag="dog") for name in ("Rex", "Tom", "Max")]
    versions = versions_shown(staff)
    someone_else_edits("Rex", tag="cat")
    someone_else_edits("Tom", name="Tim", tag="")

    page = act(staff, "delete_selected", versions, *pets)
    someone_else_edits("Max", tag="<b>")

    assert messages(confirm(staff, page)) == [
        "3 pets were not deleted, because someone else changed them in the meantime: “Rex” (tag “cat”), "
        "“Tim” (name “Tim”, tag nothing), “Max” (tag “<b>”)."
    ]
    assert Pet.objects.count() == 3


def test_a_deletion_of_pets_that_are_all_gone_asks_nothing(staff: Client) -> None:
    rex = create_pet(name="Rex")
    versions = versions_shown(staff)
    Pet.objects.all().delete()

    assert messages(act(staff, "delete_selected", versions, rex)) == [
        "1 pet was not deleted, because someone else deleted it in the meantime."
    ]


def test_many_pets_are_deleted_with_one_confirmation_that_names_ten(staff: Client) -> None:
    pets = Pet.objects.bulk_create(Pet(name="Rex") for _ in range(500))

    page = act(staff, "delete_selected", versions_shown(staff), pets[0], select_across="1")
    response = confirm(staff, page)

    assert f"<dd>{', '.join(['“Rex”'] * 10)} and 490 more" in text_of(page)
    assert messages(response) == ["500 pets deleted."]
    assert not Pet.objects.exists()


def test_deletion_needs_the_permission_at_the_confirmation_as_well(staff: Client, admin_user: Any) -> None:
    rex = create_pet(name="Rex")
    page = act(staff, "delete_selected", {}, rex)
    admin_user.is_superuser = False
    admin_user.save()

    assert confirm(staff, page).status_code == 403
    assert Pet.objects.exists()


def test_a_change_of_more_than_twenty_pets_asks_first(staff: Client) -> None:
    pets = Pet.objects.bulk_create(Pet(name="Rex", tag="<fish>") for _ in range(MAX_UNCONFIRMED))
    versions = versions_shown(staff)
    assert messages(act(staff, "mark_as_sold", versions, *pets)) == ["20 pets marked as sold."]
    pets += [create_pet(name="Tom", tag="<fish>"), Pet.objects.create(name="Max", tag="<fish>", status="pending")]
    versions = versions_shown(staff)

    filtered = f"{LIST}?tag=%3Cfish%3E&created_from=2026-01-01"
    page = act(staff, "mark_as_available", versions, *pets, url=filtered)

    text = text_of(page)
    assert "Mark 21 pets as available?" in text
    assert "<dt>Filter of the list</dt><dd>tag “&lt;fish&gt;”, created from 2026-01-01" in text
    assert "<dt>Status now</dt><dd>1 pending, 20 sold" in text
    assert "<dt>Already available</dt><dd>1 pet<" in text
    assert inventory_counts() == {"available": 1, "pending": 1, "sold": 20}
    response = confirm(staff, page, filtered)
    assert messages(response) == ["21 pets marked as available. 1 pet had this status already."]
    assert response.redirect_chain == [(filtered, 302)]
    assert inventory_counts() == {"available": 22, "pending": 0, "sold": 0}


def test_the_confirmation_of_a_change_shows_present_statuses(staff: Client) -> None:
    pets = Pet.objects.bulk_create(Pet(name=f"Pet {number:02}") for number in range(25))
    versions = versions_shown(staff)
    someone_else_edits("Pet 01", status="pending")
    Pet.objects.filter(name="Pet 02").update(status="sold")
    Pet.objects.filter(name="Pet 03").delete()

    page = act(staff, "mark_as_sold", versions, *pets)

    assert "Mark 23 pets as sold?" in page.content.decode()
    assert "<dt>Status now</dt><dd>22 available, 1 pending" in page.content.decode()
    assert "<dt>Already sold</dt><dd>1 pet<" in page.content.decode()
    assert messages(confirm(staff, page)) == [
        "1 pet was not changed, because someone else changed it in the meantime: “Pet 01” (status pending).",
        "1 pet was not changed, because someone else deleted it in the meantime.",
        "22 pets marked as sold. 1 pet had this status already.",
    ]


def test_an_action_on_all_pages_reads_a_limited_number_of_pets(staff: Client) -> None:
    pets = Pet.objects.bulk_create(Pet(name="Rex", status="sold") for _ in range(30))

    with CaptureQueriesContext(connection) as queries:
        act(staff, "mark_as_sold", {}, pets[0], select_across="1")

    read = [query["sql"] for query in queries if f"LIMIT {MAX_COUNTED + 1}" in query["sql"]]
    assert [query for query in read if '"pets_pet"."version"' in query and "COUNT(" not in query]
    assert [query for query in read if "WHERE" in query] == []


def test_a_confirmed_change_leaves_pets_alone_that_changed_or_came_since(staff: Client) -> None:
    pets = Pet.objects.bulk_create(Pet(name=f"Pet {number}") for number in range(30))
    page = act(staff, "mark_as_pending", {}, pets[0], select_across="1")
    someone_else_edits("Pet 7", status="sold")
    create_pet(name="New")

    assert messages(confirm(staff, page)) == [
        "1 pet was not changed, because someone else changed it in the meantime: “Pet 7” (status sold).",
        "29 pets marked as pending.",
    ]
    assert Pet.objects.get(name="New").status == "available"


def test_a_forged_selection_changes_nothing(staff: Client) -> None:
    rex = create_pet(name="Rex")

    for selection in ("[]", '{"sold": ["nonsense"]}', f"{rex.pk}:x", f"{rex.pk}:{'1' * 99}", f"{rex.pk}x", "x:1"):
        assert act(staff, "mark_as_sold", {}, rex, selection=selection).status_code == 400, selection
    assert act(staff, "mark_as_sold", {f"version-{rex.pk}": "1" * 99}, rex).status_code == 400
    assert Pet.objects.get().status == "available"
