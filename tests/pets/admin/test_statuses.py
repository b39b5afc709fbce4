"""The changes of statuses in the list and in bulk."""

import pytest
from django.test import Client

from pets.admin.changes import deletions, selection
from pets.models import Pet
from pets.services import create_pet
from petservice.journal.models import Item
from store.services import inventory_counts
from tests.backoffice.pages import messages, read, send
from tests.backoffice.staff import granted
from tests.pets.admin.pet_pages import INVENTORY, LIST, histories, someone_else_edits


def test_a_status_is_changed_in_the_list(staff: Client) -> None:
    pet, other = create_pet(name="Rex"), create_pet(name="Tom")
    fields = read(staff, INVENTORY, "changelist-form")
    row = next(name for name, value in fields.items() if value == pet.pk).removesuffix("-id")

    response = send(staff, INVENTORY, fields | {f"{row}-status": "sold"})

    assert messages(response) == ["Statuses of 1 pet changed."]
    assert inventory_counts() == {"available": 1, "pending": 0, "sold": 1}
    for model in ("pets_pet", "store_inventoryitem"):
        assert histories(staff, pet, model) == [("admin", "Status changed from available to sold.")]
        assert histories(staff, other, model) == []


def rows(client: Client, statuses: dict[str, str]) -> dict[str, str]:
    """Return the fields of the list's form with these statuses chosen, by the names of the pets."""
    fields = read(client, INVENTORY, "changelist-form")
    ids = dict(Pet.objects.values_list("pk", "name"))
    chosen = {
        name.removesuffix("-id") + "-status": statuses[ids[value]]
        for name, value in fields.items()
        if ids.get(value) in statuses
    }
    return fields | chosen


def test_in_the_list_staff_who_may_only_look_change_no_status(staff: Client) -> None:
    create_pet(name="Rex")
    fields = rows(staff, {"Rex": "sold"})

    response = granted("view_pet", "view_inventoryitem").post(INVENTORY, fields | {"_save": "Save"})

    assert response.status_code == 403
    assert Pet.objects.get().status == "available"


def test_in_the_list_a_change_by_someone_else_is_kept_and_reported(staff: Client) -> None:
    for name in ("Rex", "Tom", "Max"):
        create_pet(name=name)
    fields = rows(staff, {"Rex": "sold", "Tom": "pending"})
    someone_else_edits("Rex", status="pending")
    someone_else_edits("Max", status="sold")

    response = send(staff, INVENTORY, fields)

    assert messages(response) == [
        "“Rex” was not changed: someone else set it to pending in the meantime.",
        "Statuses of 1 pet changed.",
    ]
    assert dict(Pet.objects.values_list("name", "status")) == {"Rex": "pending", "Tom": "pending", "Max": "sold"}


def test_in_the_list_a_save_without_effect_says_so(staff: Client) -> None:
    create_pet(name="Rex")
    unchanged, sold = rows(staff, {}), rows(staff, {"Rex": "sold"})

    assert messages(send(staff, INVENTORY, unchanged)) == ["Nothing was changed."]
    Pet.objects.update(status="sold")
    assert messages(send(staff, INVENTORY, sold)) == ["Nothing was changed: 1 pet had this status already."]


def test_in_the_list_new_pets_do_not_shift_the_rows(staff: Client) -> None:
    create_pet(name="Rex")
    fields = rows(staff, {"Rex": "sold"})
    create_pet(name="Tom")

    send(staff, INVENTORY, fields)

    assert dict(Pet.objects.values_list("name", "status")) == {"Rex": "sold", "Tom": "available"}


def test_in_the_list_a_deleted_pet_is_reported_and_the_others_are_saved(staff: Client) -> None:
    create_pet(name="Rex")
    create_pet(name="Tom")
    fields = rows(staff, {"Rex": "sold", "Tom": "sold"})
    Pet.objects.filter(name="Rex").delete()

    response = send(staff, INVENTORY, fields)

    assert messages(response) == [
        "1 pet was not changed, because someone else deleted it in the meantime.",
        "Statuses of 1 pet changed.",
    ]
    assert Pet.objects.values_list("name", "status").get() == ("Tom", "sold")


@pytest.mark.parametrize(
    "forged", [{"form-0-status": "lost"}, {"form-0-id": "nonsense"}, {"form-0-id": "\0"}, {"form-0-id": ""}]
)
def test_a_forged_row_changes_nothing(staff: Client, forged: dict[str, str]) -> None:
    create_pet(name="Rex")

    send(staff, INVENTORY, rows(staff, {"Rex": "sold"}) | forged)

    assert Pet.objects.get().status == "available"


@pytest.mark.parametrize("action", ["mark_as_sold", "delete_selected", "set_tag", "rename_tag", "remove_tag"])
def test_an_action_on_too_many_pets_changes_nothing(
    staff: Client, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    monkeypatch.setattr(selection, "MAX_COUNTED", 3)
    monkeypatch.setattr(deletions, "MAX_DELETED", 3)
    pets = Pet.objects.bulk_create(Pet(name="Rex") for _ in range(4))

    fields = {"action": action, "_selected_action": pets[0].pk, "select_across": "1", "index": 0}
    response = staff.post(LIST, fields, follow=True)

    assert ["You selected more than 3 pets" in message for message in messages(response)] == [True]
    assert inventory_counts() == {"available": 4, "pending": 0, "sold": 0}
    assert not Item.objects.exists()


def test_only_staff_who_may_change_a_pet_see_its_status_as_a_menu(staff: Client) -> None:
    create_pet(name="Rex <b>")
    menu, badge = '<details class="status-menu"', '<span class="badge badge-available">Available</span>'

    page = staff.get(LIST).content.decode()
    assert menu in page
    assert 'title="Change the status of Rex &lt;b&gt;"' in page
    for viewer in (granted("view_pet"), granted("view_inventoryitem", name="other")):
        url = LIST if viewer.get(LIST).status_code == 200 else INVENTORY
        page = viewer.get(url).content.decode()
        assert badge in page
        assert menu not in page


def test_the_menu_of_a_status_leaves_a_pet_alone_that_changed_after_the_list_was_shown(staff: Client) -> None:
    pet = create_pet(name="Rex")
    shown = read(staff, LIST, "mark_as_sold") | {"selection": f"{pet.pk}:{pet.version}"}
    someone_else_edits("Rex", status="pending")

    response = staff.post(LIST, shown, follow=True)

    assert messages(response)[0] == "“Rex” was not changed: someone else set it to pending in the meantime."
    pet.refresh_from_db()
    assert pet.status == "pending"
    assert messages(staff.post(LIST, shown | {"selection": f"{pet.pk}:{pet.version}"}, follow=True)) == [
        "1 pet marked as sold."
    ]
