"""The actions on many pets of a list and on their statuses, also when someone else changes the pets meanwhile."""

import re
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from pets.admin.changes import selection
from pets.admin.changes.undo_pages import MAX_UNCONFIRMED
from pets.models import Pet
from petservice.journal.models import Item
from store.services import inventory_counts
from tests.backoffice.pages import fields_of, messages, read, text_of
from tests.backoffice.staff import granted
from tests.pets.admin.pet_pages import LIST, edit, histories, page_of, sent, someone_else_edits, undo, versions_shown

pytestmark = [pytest.mark.django_db, pytest.mark.once(on="postgresql")]

NO_ID = "00000000-0000-0000-0000-000000000000"  # the forms have it, because Django expects a selected row


def act(client: Client, action: str, shown: dict[str, int], *pets: Pet, url: str = LIST, **fields: Any) -> Any:
    """Run an action on pets, or on all of the list, with the versions that it showed, or else the present ones."""
    pks = [*shown] if shown and "select_across" in fields else [pet.pk for pet in pets]
    versions = shown or dict(Pet.objects.filter(pk__in=pks).values_list("pk", "version"))
    selection = {"selection": [f"{pk}:{versions[pk]}" for pk in pks], "_selected_action": NO_ID}
    return sent(client, url, {"action": action, "index": 0} | selection | fields)


def confirm(client: Client, page: Any, url: str = LIST, **fields: str) -> Any:
    """Send the form of a page that asks, with these fields changed."""
    return sent(client, url, fields_of(page, "confirmation") | fields)


@pytest.mark.parametrize("fields", [{}, {"select_across": "1"}], ids=["selected", "all of the list"])
def test_pets_whose_status_someone_else_changed_are_left_alone_and_named(staff: Client, fields: dict[str, str]) -> None:
    pets = [Pet.objects.create(name=name, tag="dog") for name in ("Rex", "Tom", "Max", "Mia", "Kim", "Bo", "Ada")]
    someone_else_edits("Kim", tag="cat")  # before the list was shown, so this is not what changed
    url = f"{LIST}?status__exact=available"
    boxes = re.findall('<input type="checkbox" name="selection" value="(.+?):(.+?)"', staff.get(url).content.decode())
    versions = {pk: int(version) for pk, version in boxes}
    someone_else_edits("Rex", status="pending")  # with which it leaves the list
    undo(staff, someone_else_edits("Tom", status="sold"))
    someone_else_edits("Max", name="Moritz", tag="")  # no obstacle
    undo(staff, someone_else_edits("Mia", tag="cat"))
    for status in ("pending", "available"):  # by another program, so no record says what changed
        Pet.objects.filter(name="Kim").update(status=status)
    Pet.objects.filter(name="Bo").update(status="sold")
    Pet.objects.filter(name="Ada").delete()

    response = act(staff, "mark_as_sold", versions, *pets, url=url, **fields)

    assert messages(response) == [
        "3 pets were not changed, because someone else changed them in the meantime: “Rex” (status pending), "
        "“Tom” (status available), “Kim”.",
        "1 pet was not changed, because someone else deleted it in the meantime.",
        "2 pets marked as sold. 1 pet had this status already.",
    ]
    statuses = {"Rex": "pending", "Tom": "available", "Moritz": "sold", "Mia": "sold", "Kim": "available", "Bo": "sold"}
    assert dict(Pet.objects.values_list("name", "status")) == statuses
    assert histories(staff, pets[0]) == [("bea", "Status changed from available to pending.")]
    assert histories(staff, pets[2])[0] == ("admin", "Status changed from available to sold.")
    (alone,) = messages(act(staff, "mark_as_sold", versions, pets[0]))  # which says all
    assert alone == "1 pet was not changed, because someone else changed it in the meantime: “Rex” (status pending)."
    bo = Pet.objects.get(name="Bo")
    assert messages(act(staff, "mark_as_sold", versions, bo)) == ["Nothing was changed: 1 pet had this status already."]
    assert histories(staff, bo) == []


def test_pets_are_deleted_after_a_confirmation_that_names_them_unless_someone_else_changed_them(staff: Client) -> None:
    pets = [Pet.objects.create(name=name, tag="dog") for name in ("Rex <b>", "Tom", "Max", "Mia", "Kim", "Bo")]
    Pet.objects.create(name="Ada")
    versions = versions_shown(staff)
    someone_else_edits("Tom", status="pending")
    someone_else_edits("Max", name="Moritz", tag="")

    page = act(staff, "delete_selected", versions, *pets, url=f"{LIST}?created_from=2026-01-01")

    assert Pet.objects.count() == 7
    text = text_of(page)
    assert "<dt>Filter of the list</dt><dd>Created from “2026-01-01”" in text
    assert "Delete 6 pets? Deleted pets stay in the trash for 30 days." in text
    assert "<dt>Pets</dt><dd>“Rex &lt;b&gt;”, “Tom”, “Moritz”, “Mia”, “Kim”, “Bo”" in text
    someone_else_edits("Mia", tag="<b>")
    assert messages(confirm(staff, page)) == [
        "3 pets were not deleted, because someone else changed them in the meantime: “Tom” (status pending), "
        "“Moritz” (name “Moritz”, tag nothing), “Mia” (tag “<b>”).",
        "3 pets deleted.",
    ]
    assert {pet.name for pet in Pet.objects.all()} == {"Tom", "Moritz", "Mia", "Ada"}
    # Nothing is asked about pets that are all gone.
    assert messages(act(staff, "delete_selected", versions, pets[0])) == [
        "1 pet was not deleted, because someone else deleted it in the meantime."
    ]


def test_thousands_of_pets_are_deleted_with_a_confirmation_that_names_ten_and_put_back_together(staff: Client) -> None:
    pets = Pet.objects.bulk_create(Pet(name="Rex") for _ in range(1100))

    page = act(staff, "delete_selected", versions_shown(staff), pets[0], select_across="1")
    Pet.objects.filter(pk__in=[pet.pk for pet in pets[:12]]).update(status="sold")
    response = confirm(staff, page)

    names = ", ".join(["“Rex”"] * 10)
    assert f"<dd>{names} and 1,090 more" in text_of(page)
    assert "Filter of the list" not in text_of(page)
    assert messages(response) == [
        f"12 pets were not deleted, because someone else changed them in the meantime: {names} and 2 more.",
        "1,088 pets deleted.",
    ]
    assert (Pet.objects.count(), Item.objects.count()) == (12, 1088)
    assert messages(undo(staff, response)) == ["The change of 1,088 pets is undone."]
    assert {*re.findall("1,?088", text_of(staff.get("/admin/pets/recentchange/")))} == {"1,088"}
    assert inventory_counts() == {"available": 1088, "pending": 0, "sold": 12}


def test_a_change_of_more_than_twenty_pets_asks_first(staff: Client) -> None:
    pets = Pet.objects.bulk_create(Pet(name=f"Pet {number:02}", tag="<fish>") for number in range(25))
    assert messages(act(staff, "mark_as_sold", {}, *pets[:MAX_UNCONFIRMED])) == ["20 pets marked as sold."]
    Pet.objects.exclude(name="Pet 02").update(status="available")
    Pet.objects.filter(name="Pet 01").update(status="pending")
    filtered = f"{LIST}?tag=%3Cfish%3E&created_from=2026-01-01"
    versions = versions_shown(staff, filtered)

    page = act(staff, "mark_as_sold", versions, pets[0], url=filtered, select_across="1")

    text = text_of(page)
    assert "Mark 24 pets as sold?" in text
    assert "<dt>Filter of the list</dt><dd>Tag “&lt;fish&gt;”, Created from “2026-01-01”" in text
    assert "<dt>Status now</dt><dd>23 available, 1 pending" in text
    assert "<dt>Already sold</dt><dd>1 pet<" in text
    assert inventory_counts() == {"available": 23, "pending": 1, "sold": 1}
    someone_else_edits("Pet 04", status="pending")
    Pet.objects.create(name="New", tag="<fish>")
    response = confirm(staff, page, filtered)
    assert messages(response)[-1] == "23 pets marked as sold. 1 pet had this status already."
    assert response.redirect_chain == [(filtered, 302)]
    assert inventory_counts() == {"available": 1, "pending": 1, "sold": 24}


def test_a_forged_selection_changes_nothing(staff: Client) -> None:
    rex = Pet.objects.create(name="Rex")

    for forged in ("[]", '{"sold": ["nonsense"]}', f"{rex.pk}:x", f"{rex.pk}:{'1' * 99}", f"{rex.pk}", "x:1"):
        assert act(staff, "mark_as_sold", {}, rex, selection=forged).status_code == 400, forged
    assert Pet.objects.get().status == "available"


@pytest.mark.parametrize("action", ["mark_as_sold", "delete_selected", "set_tag"])
def test_an_action_on_too_many_pets_reads_few_of_them_and_changes_nothing(
    staff: Client, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    monkeypatch.setattr(selection, "MAX_COUNTED", 3)
    pets = Pet.objects.bulk_create(Pet(name="Rex") for _ in range(4))

    with CaptureQueriesContext(connection) as queries:
        response = act(staff, action, {pets[0].pk: 1}, select_across="1")

    read = [query["sql"] for query in queries if '"pets_pet"."version"' in query["sql"]]
    assert [sql.endswith("LIMIT 4") for sql in read] == [True]
    assert ["You selected more than 3 pets" in message for message in messages(response)] == [True]
    assert inventory_counts() == {"available": 4, "pending": 0, "sold": 0}
    assert not Item.objects.exists()


# The menu of a status, and who may use it.


def test_an_account_that_may_only_look_or_delete_sees_a_badge_and_changes_no_status() -> None:
    pet = Pet.objects.create(name="Rex <b>")
    for codenames in (["view_pet"], ["view_inventoryitem"], ["view_pet", "delete_pet"]):
        viewer = granted(*codenames, name=codenames[-1])
        page = viewer.get(LIST).content.decode()

        assert '<span class="badge badge-available">Available</span>' in page
        assert 'class="status-menu"' not in page
        assert "Press a status" not in page
        assert act(viewer, "mark_as_sold", {}, pet).status_code == 403
        assert viewer.post(page_of(pet), {"status": "sold"}).status_code == 403
        assert Pet.objects.get().status == "available"


def test_an_account_for_the_inventory_changes_statuses_and_nothing_else() -> None:
    pet, clerk = Pet.objects.create(name="Rex <b>", tag="dog"), granted("change_inventoryitem")

    page = clerk.get(LIST).content.decode()

    assert 'title="Change the status of Rex &lt;b&gt;"' in page
    assert "Press a status" in page
    marks = ["Mark as available", "Mark as pending", "Mark as sold"]
    assert re.findall('name="action" value="[a-z_]+">([^<]+)<', page) == marks
    assert re.findall(r'<ul class="object-tools">\s*</ul>', page)
    menu = read(clerk, LIST, "mark_as_sold") | {"selection": f"{pet.pk}:{pet.version}"}
    assert messages(clerk.post(LIST, menu, follow=True)) == ["“Rex &lt;b&gt;” marked as sold."]
    form = clerk.get(page_of(pet)).context["adminform"].form
    assert list(form.fields) == ["status"]
    edited = edit(clerk, pet, {"name": "Max", "tag": "cat", "status": "pending"})
    assert Pet.objects.values_list("name", "tag", "status").get() == ("Rex <b>", "dog", "pending")
    assert inventory_counts() == {"available": 0, "pending": 1, "sold": 0}
    assert messages(undo(clerk, edited)) == ["The change of 1 pet is undone."]
    for action in ("set_tag", "delete_selected"):
        assert act(clerk, action, {}, pet, post="yes", new_tag="x").status_code == 403, action
    for url in ("add/", "import/", "export/", "print/", f"{pet.pk}/delete/"):
        assert clerk.post(LIST + url, {"post": "yes", "format": "csv"}).status_code == 403, url
    assert Pet.objects.values_list("name", "tag").get() == ("Rex <b>", "dog")
    clerk = granted("add_pet", "change_inventoryitem", name="bo")
    assert clerk.get(f"{LIST}add/").status_code == 200
    assert clerk.get(f"{LIST}import/").status_code == 403
    assert f"{LIST}import/" not in clerk.get(LIST).content.decode()
