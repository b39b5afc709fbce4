"""The changes of statuses in the list and in bulk."""

import re
from typing import Any

import pytest
from django.test import Client

from pets.admin.changes import selection
from pets.models import Pet
from pets.services import create_pet
from petservice.journal.models import Event, Item
from store.services import inventory_counts
from tests.backoffice.pages import messages, read
from tests.backoffice.staff import granted
from tests.pets.admin.pet_pages import LIST, edit, page_of, someone_else_edits

RECENT = "/admin/pets/recentchange/"

pytestmark = [pytest.mark.django_db, pytest.mark.once(on="postgresql")]


@pytest.mark.parametrize("action", ["mark_as_sold", "delete_selected", "set_tag"])
def test_an_action_on_too_many_pets_changes_nothing(
    staff: Client, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    monkeypatch.setattr(selection, "MAX_COUNTED", 3)
    pets = Pet.objects.bulk_create(Pet(name="Rex") for _ in range(4))

    fields = {"action": action, "_selected_action": pets[0].pk, "select_across": "1", "index": 0}
    response = staff.post(LIST, fields, follow=True)

    assert ["You selected more than 3 pets" in message for message in messages(response)] == [True]
    assert inventory_counts() == {"available": 4, "pending": 0, "sold": 0}
    assert not Item.objects.exists()


def sell(client: Client, pet: Pet) -> Any:
    """Press *Sold* in the menu of the status of a pet in the list, as the client saw it."""
    fields = read(client, LIST, "mark_as_sold") | {"selection": f"{pet.pk}:{pet.version}"}
    return client.post(LIST, fields, follow=True)


def test_the_menu_of_a_status_leaves_a_pet_alone_that_changed_after_the_list_was_shown(staff: Client) -> None:
    pet = create_pet(name="Rex")
    someone_else_edits("Rex", status="pending")

    response = sell(staff, pet)

    assert messages(response)[0] == (
        "1 pet was not changed, because someone else changed it in the meantime: “Rex” (status pending)."
    )
    pet.refresh_from_db()
    assert pet.status == "pending"
    assert messages(sell(staff, pet)) == ["1 pet marked as sold."]


def test_an_account_that_may_only_look_sees_a_badge_and_changes_no_status() -> None:
    pet = create_pet(name="Rex <b>")
    for codename in ("view_pet", "view_inventoryitem"):
        viewer = granted(codename, name=codename)
        page = viewer.get(LIST).content.decode()

        assert '<span class="badge badge-available">Available</span>' in page
        assert 'class="status-menu"' not in page
        viewer.post(LIST, {"action": "mark_as_sold", "index": "0", "selection": f"{pet.pk}:{pet.version}"})
        assert viewer.post(page_of(pet), {"status": "sold"}).status_code == 403
        assert Pet.objects.get().status == "available"


def test_an_account_for_the_inventory_changes_statuses_and_nothing_else() -> None:
    pet, clerk = create_pet(name="Rex <b>", tag="dog"), granted("change_inventoryitem")

    page = clerk.get(LIST).content.decode()

    assert 'title="Change the status of Rex &lt;b&gt;"' in page
    marks = ["Mark as available", "Mark as pending", "Mark as sold"]
    assert re.findall('name="index" value="[0-9]+">([^<]+)<', page) == marks
    assert re.findall(r'<ul class="object-tools">\s*</ul>', page)
    assert messages(sell(clerk, pet)) == ["1 pet marked as sold."]
    form = clerk.get(page_of(pet)).context["adminform"].form
    assert list(form.fields) == ["status"]
    edit(clerk, pet, {"name": "Max", "tag": "cat", "status": "pending"})
    assert Pet.objects.values_list("name", "tag", "status").get() == ("Rex <b>", "dog", "pending")
    assert inventory_counts() == {"available": 0, "pending": 1, "sold": 0}
    undone = clerk.post(f"{RECENT}{Event.objects.latest('pk').pk}/change/", follow=True)
    assert messages(undone)[0].startswith("Undone.")
    for action in ("set_tag", "delete_selected"):
        clerk.post(LIST, {"action": action, "index": "0", "_selected_action": pet.pk, "post": "yes", "new_tag": "x"})
    for url in ("add/", "import/", "export/", "print/", f"{pet.pk}/delete/"):
        assert clerk.post(LIST + url, {"post": "yes", "format": "csv"}).status_code == 403, url
    assert Pet.objects.values_list("name", "tag").get() == ("Rex <b>", "dog")
    clerk = granted("add_pet", "change_inventoryitem", name="bo")
    assert clerk.get(f"{LIST}add/").status_code == 200
    assert clerk.get(f"{LIST}import/").status_code == 403
    assert f"{LIST}import/" not in clerk.get(LIST).content.decode()
