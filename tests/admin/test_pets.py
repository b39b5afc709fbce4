import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client
from django.urls import reverse

from pets.models import Pet
from pets.services import create_pet
from store.services import inventory_counts

LIST = reverse("admin:pets_pet_changelist")
INVENTORY = reverse("admin:store_inventoryitem_changelist")


@pytest.fixture
def staff(admin_client: Client) -> Client:
    return admin_client


def names_found(client: Client, term: str) -> list[str]:
    return [pet.name for pet in client.get(LIST, {"q": term}).context["cl"].result_list]


def test_staff_add_a_pet(staff: Client) -> None:
    staff.post(reverse("admin:pets_pet_add"), {"name": "Żółw", "tag": "", "status": "available"})

    pet = Pet.objects.get()
    assert (pet.name, pet.tag, pet.status) == ("Żółw", None, "available")


def test_staff_delete_a_pet_and_the_inventory_follows(staff: Client) -> None:
    pet = create_pet(name="Rex")

    staff.post(reverse("admin:pets_pet_delete", args=[pet.pk]), {"post": "yes"})

    assert not Pet.objects.exists()
    assert inventory_counts()["available"] == 0


def test_editing_the_tag_keeps_the_blanks_of_the_name(staff: Client) -> None:
    pet = create_pet(name=" Rex ", tag="dog")

    staff.post(
        reverse("admin:pets_pet_change", args=[pet.pk]), {"name": " Rex ", "tag": "hound", "status": "available"}
    )

    pet.refresh_from_db()
    assert (pet.name, pet.tag) == (" Rex ", "hound")


@pytest.mark.parametrize(("field", "value"), [("name", ""), ("name", "   "), ("name", "x" * 256), ("tag", "  ")])
def test_a_form_with_text_that_the_api_refuses_is_refused(staff: Client, field: str, value: str) -> None:
    fields = {"name": "Rex", "tag": "dog", "status": "available"} | {field: value}

    response = staff.post(reverse("admin:pets_pet_add"), fields)

    assert field in response.context["adminform"].form.errors
    assert not Pet.objects.exists()


def test_a_pet_is_found_by_the_beginning_of_its_name_in_any_case_and_by_its_id(staff: Client) -> None:
    pet = create_pet(name="Rex")
    create_pet(name="T-Rex")

    assert names_found(staff, "rE") == ["Rex"]
    assert names_found(staff, pet.pk) == ["Rex"]
    assert names_found(staff, pet.pk.upper()) == ["Rex"]


def test_markup_in_a_name_is_shown_as_text(staff: Client) -> None:
    create_pet(name="<script>alert(1)</script>")

    page = staff.get(LIST).content.decode()

    assert "<script>alert(1)" not in page
    assert "&lt;script&gt;alert(1)" in page


@pytest.mark.parametrize("odd", ["nonsense", "01890A5D-AC96-774B-BCCE-B302099A8057", "%00", "_2F"])
def test_the_page_of_a_pet_that_does_not_exist_leads_back_to_the_admin(staff: Client, odd: str) -> None:
    response = staff.get(f"/admin/pets/pet/{odd}/change/")

    assert response.status_code == 302


def test_a_status_is_changed_in_the_list(staff: Client) -> None:
    pet = create_pet(name="Rex")
    form = {
        "form-TOTAL_FORMS": 1,
        "form-INITIAL_FORMS": 1,
        "form-0-id": pet.pk,
        "form-0-status": "sold",
        "_save": "Save",
    }

    staff.post(INVENTORY, form)

    assert inventory_counts() == {"available": 0, "pending": 0, "sold": 1}
    assert LogEntry.objects.get().object_id == pet.pk


def test_statuses_are_changed_in_bulk_and_each_change_is_in_the_history(staff: Client) -> None:
    pets = [create_pet(name=f"Pet {number}") for number in range(3)]
    Pet.objects.filter(pk=pets[0].pk).update(status="pending")

    response = staff.post(
        INVENTORY, {"action": "mark_as_pending", "_selected_action": [pet.pk for pet in pets]}, follow=True
    )

    assert inventory_counts() == {"available": 0, "pending": 3, "sold": 0}
    assert "2 pet(s) marked as pending." in response.content.decode()
    assert {entry.object_id for entry in LogEntry.objects.all()} == {pets[1].pk, pets[2].pk}


def test_a_forged_post_without_the_csrf_token_changes_nothing(admin_user: object) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(admin_user)  # type: ignore[arg-type]

    response = client.post(reverse("admin:pets_pet_add"), {"name": "Rex", "status": "available"})

    assert response.status_code == 403
    assert not Pet.objects.exists()
