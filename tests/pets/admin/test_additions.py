"""The adding of pets in the admin: one, several at once, and none for a form that is sent again."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from pets.models import Pet, TrashedPet
from petservice.journal.models import Event
from tests.backoffice.pages import messages, read, undo_url
from tests.backoffice.staff import granted
from tests.concurrent_write import only_on_postgresql, write_before
from tests.pets.admin.pet_pages import LIST, histories, page_of, sent, undo
from tests.pets.admin.test_undo import TOO_LATE

pytestmark = pytest.mark.once(on="postgresql")

ADD = reverse("admin:pets_pet_add")


def test_one_or_several_names_add_a_pet_each_and_one_undo_removes_them(staff: Client) -> None:
    names = "Ada\n\r\n Bea \r   \r\nC\u2028D"  # with every kind of line break
    response = sent(staff, ADD, read(staff, ADD, "pet_form") | {"name": names, "tag": "rabbit", "status": "pending"})

    assert messages(response) == ["3 pets added."]
    added = [(name, "rabbit", "pending", "staff admin") for name in ("Ada", " Bea ", "C\u2028D")]
    assert [*Pet.objects.order_by("pk").values_list("name", "tag", "status", "created_by")] == added
    event = Event.objects.get(kind="added")
    assert (event.count, event.message) == (3, "3 pets added.")
    undone = undo(staff, response)
    assert messages(undone) == ["The change of 3 pets is undone."]
    assert TrashedPet.objects.count() == 3
    assert not Pet.objects.exists()
    response = sent(staff, ADD, read(staff, ADD, "pet_form") | {"name": "Żółw"})
    pet = Pet.objects.get()
    assert (pet.name, pet.tag, pet.status) == ("Żółw", None, "available")
    assert messages(response) == ["“Żółw” added."]
    assert response.redirect_chain == [(LIST, 302)]
    assert histories(staff, pet) == [("admin", "Added.")]


@pytest.mark.parametrize(
    ("texts", "error"),
    [
        ({"name": "Ada\n" + "x" * 256}, f"“{'x' * 50}”: Ensure this value has at most 255 characters (it has 256)."),
        ({"name": "Ada\nB\0b"}, "Null characters are not allowed."),
        ({"name": "Ada\n" * 101}, "Enter at most 100 names, or import a file."),
        ({"name": " \n\u3000"}, "Enter at least one character that is not white space."),
        ({"name": "Ada", "tag": "x" * 256}, "Ensure this value has at most 255 characters (it has 256)."),
    ],
)
def test_invalid_texts_add_no_pet(staff: Client, texts: dict[str, str], error: str) -> None:
    response = sent(staff, ADD, read(staff, ADD, "pet_form") | texts)

    assert [*response.context["adminform"].form.errors.values()] == [[error]]
    assert not Pet.objects.exists()


def test_as_many_names_as_the_form_says_add_a_pet_each(staff: Client) -> None:
    response = sent(staff, ADD, read(staff, ADD, "pet_form") | {"name": "Ada\n" * 100})

    assert messages(response) == ["100 pets added."]
    assert Pet.objects.count() == 100


def test_a_form_that_is_sent_again_adds_nothing_and_leads_to_its_pet(staff: Client) -> None:
    fields = read(staff, ADD, "pet_form") | {"name": "Rex\nTom"}
    sent(staff, ADD, fields)

    again = sent(staff, ADD, fields | {"name": "Max"})

    rex, _ = Pet.objects.order_by("pk")
    assert messages(again) == ["This form was sent already, and has added “Rex”."]
    assert again.redirect_chain == [(page_of(rex), 302)]
    rex.delete()
    again = sent(staff, ADD, fields)
    assert messages(again) == ["This form was sent already, and has added “Tom”."]
    User.objects.filter(username="admin").update(username="boss")
    assert messages(sent(staff, ADD, fields)) == ["This form was sent already, and has added “Tom”."]
    sent(staff, ADD, read(staff, ADD, "pet_form") | {"name": "Max"})
    assert Pet.objects.count() == 2


@pytest.mark.django_db
def test_an_account_that_may_add_pets_and_see_none_gets_to_the_dashboard_and_may_undo() -> None:
    clerk = granted("add_pet")
    fields = read(clerk, ADD, "pet_form") | {"name": "Rex"}
    added, again = sent(clerk, ADD, fields), sent(clerk, ADD, fields)

    assert messages(again) == ["This form was sent already, and has added “Rex”."]
    asked = clerk.get(undo_url(added)).content.decode()
    assert f'href="{reverse("admin:index")}" class="button secondary">No, keep it' in asked
    undone, late = (sent(clerk, undo_url(added), {}) for _ in range(2))
    assert messages(undone) == ["The change of 1 pet is undone."]
    assert messages(late) == [TOO_LATE]
    assert [one["Location"] for one in (added, again, undone, late)] == [reverse("admin:index")] * 4


@only_on_postgresql
def test_a_form_that_is_sent_twice_at_once_adds_its_pets_once(staff: Client) -> None:
    fields = read(staff, ADD, "pet_form") | {"name": "Rex\nTom"}

    def send_again() -> None:
        again = Client()
        again.cookies = staff.cookies
        assert again.post(ADD, fields).status_code == 302

    with write_before('INSERT INTO "pets_pet"', send_again):
        staff.post(ADD, fields)

    assert Pet.objects.count() == 2
