"""The forms that add, edit and delete pets, also when they are sent again, or when two people edit the same pet."""

from html import unescape

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse
from django.utils.html import escape

from pets.models import Pet, TrashedPet
from petservice.configuration.time_zone import moment
from petservice.journal.models import Event
from tests.backoffice.pages import fields_of, messages, read, text_of, undo_url
from tests.backoffice.staff import granted
from tests.concurrent_write import only_on_postgresql, write_before
from tests.pets.admin.pet_pages import LIST, edit, histories, page_of, sent, undo
from tests.pets.admin.test_undo import TOO_LATE
from tests.pets.changes import delete

pytestmark = [pytest.mark.django_db, pytest.mark.once(on="postgresql")]

ADD = reverse("admin:pets_pet_add")


def test_one_or_up_to_a_hundred_names_add_a_pet_each_and_one_undo_removes_them(staff: Client) -> None:
    names = "Ada\n\r\n Bea \r   \r\nC\u2028D" + "\nTom" * 97  # with every kind of line break
    response = sent(staff, ADD, read(staff, ADD, "pet_form") | {"name": names, "tag": "rabbit", "status": "pending"})

    assert messages(response) == ["100 pets added."]
    added = [(name, "rabbit", "pending", "staff admin") for name in ("Ada", " Bea ", "C\u2028D", *["Tom"] * 97)]
    assert [*Pet.objects.order_by("pk").values_list("name", "tag", "status", "created_by")] == added
    event = Event.objects.get(kind="added")
    assert (event.count, event.message) == (100, "100 pets added.")
    undone = undo(staff, response)
    assert messages(undone) == ["The change of 100 pets is undone."]
    assert TrashedPet.objects.count() == 100
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
        ({"name": " \n\u3000\n\u200b"}, "Enter at least one character that is not white space."),
        ({"name": "Ada", "tag": "x" * 256}, "Ensure this value has at most 255 characters (it has 256)."),
    ],
)
def test_invalid_texts_add_no_pet(staff: Client, texts: dict[str, str], error: str) -> None:
    response = sent(staff, ADD, read(staff, ADD, "pet_form") | texts)

    assert [*response.context["adminform"].form.errors.values()] == [[error]]
    assert not Pet.objects.exists()


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


def test_an_account_that_may_add_pets_and_see_none_gets_to_the_dashboard_and_may_undo() -> None:
    clerk = granted("add_pet")
    fields = read(clerk, ADD, "pet_form") | {"name": "Rex"}
    added, again = sent(clerk, ADD, fields), sent(clerk, ADD, fields)

    assert messages(again) == ["This form was sent already, and has added “Rex”."]
    asked = clerk.get(undo_url(added)).content.decode()
    assert f'href="{reverse("admin:index")}" class="button secondary">No, keep it' in asked
    assert "Added." not in asked  # which the list of the pets says of each
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


# Edits and deletions.


def test_a_deletion_asks_and_deletes_once_if_it_is_sent_twice_and_one_of_nothing_says_so(staff: Client) -> None:
    pet = Pet.objects.create(name="Rex", tag="dog")
    url = reverse("admin:pets_pet_delete", args=[pet.pk])
    page = staff.get(url)
    assert all(text in text_of(page) for text in ("<h1>Delete pet</h1>", "<dt>Pet</dt>"))
    assert "Delete 1 pet? Deleted pets stay in the trash for 30 days." in text_of(page)
    assert "<dt>Tag</dt><dd>“dog”</dd>" in text_of(page), "it may not be the only Rex"

    fields = fields_of(page, "confirmation")
    filtered = f"{url}?_changelist_filters=tag%3Ddog"
    first, second = (staff.post(filtered, fields, follow=True) for _ in range(2))

    assert messages(first) == ["“Rex” deleted."]
    assert messages(second) == ["1 pet was not deleted, because someone else deleted it in the meantime."]
    assert first.redirect_chain == second.redirect_chain == [(f"{LIST}?tag=dog", 302)]
    assert messages(staff.get(url, follow=True)) == ["No such pets were found. Nothing was changed."]
    assert staff.get("/admin/pets/pet/nonsense/delete/").status_code == 400
    assert TrashedPet.objects.count() == 1


@pytest.mark.parametrize("name", [" Rex ", "Rex\nthe second", "Rex\r\n", "a\rb"])
def test_editing_the_tag_keeps_the_name_exactly(staff: Client, name: str) -> None:
    pet = Pet.objects.create(name=name, tag="dog")
    # Browsers remove line breaks from a text input, and send those of a hidden input as CR LF.
    shown = name.replace("\r", "").replace("\n", "")
    hidden = name.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\r\n")

    edit(staff, pet, {"name": shown, "initial-name": hidden, "tag": "hound"})

    pet.refresh_from_db()
    assert (pet.name, pet.tag) == (name, "hound")
    assert histories(staff, pet) == [("admin", "Tag changed from “dog” to “hound”.")]


def test_a_form_of_a_pet_that_someone_deleted_says_who_and_what_was_typed(staff: Client, admin_user: User) -> None:
    rex, tom = Pet.objects.create(name="Rex", tag="dog"), Pet.objects.create(name="Tom\nII")
    typed = read(staff, page_of(rex), "pet_form") | {"name": "Max", "status": "sold"}
    unchanged = read(staff, page_of(tom), "pet_form") | {"name": "TomII"}  # as a text input shows the name
    clerk = granted("view_inventoryitem", "change_inventoryitem")
    delete(admin_user, rex, tom)
    told = "was deleted by admin, " + moment(Event.objects.latest("pk").at) + ". It is in the trash."

    response, opened = sent(staff, page_of(rex), typed), staff.get(page_of(rex), follow=True)

    trashed = TrashedPet.objects.get(record_id=rex.pk)
    in_trash = reverse("admin:pets_trashedpet_change", args=[trashed.pk])
    assert messages(response) == [f"“Rex” {told} Nothing was saved of what you typed: name “Max”, status sold."]
    assert messages(opened) == [f"“Rex” {told}"]
    assert messages(sent(staff, page_of(tom), unchanged)) == [f"“Tom\nII” {told}"]
    assert response.redirect_chain == opened.redirect_chain == [(in_trash, 302)]
    for_clerk = clerk.get(page_of(rex), follow=True)
    assert messages(for_clerk) == [f"“Rex” {told}"]
    assert for_clerk.redirect_chain == [(reverse("admin:index"), 302)]
    assert granted(name="bo").get(page_of(rex)).status_code == 403
    assert not Pet.objects.exists()


def test_the_page_of_a_pet_that_one_may_only_see_has_its_name_before_its_status() -> None:
    page = granted("view_pet").get(page_of(Pet.objects.create(name="Rex"))).content.decode()
    assert page.index("field-name") < page.index("field-status")


# Two people edit the same pet.


def test_a_field_that_both_set_to_the_same_value_or_that_has_no_hidden_one_is_no_conflict(staff: Client) -> None:
    pet = Pet.objects.create(name="Rex", tag="dog")
    fields = read(staff, page_of(pet), "pet_form")
    Pet.objects.filter(pk=pet.pk).update(status="sold")

    first, again = (sent(staff, page_of(pet), fields | {"status": "sold", "tag": "wolf"}) for _ in range(2))

    assert messages(first) == ["“Rex”: Tag changed from “dog” to “wolf”."]
    assert messages(again) == ["You changed nothing, so “Rex” is as before."]
    assert Pet.objects.values_list("tag", "status").get() == ("wolf", "sold")
    assert histories(staff, pet) == [("admin", "Tag changed from “dog” to “wolf”.")]
    # A program may leave out the hidden fields, and then overwrites the current values.
    sent(staff, page_of(pet), {"name": "Tom", "tag": "cat", "status": "pending"})
    assert Pet.objects.values_list("name", "tag", "status").get() == ("Tom", "cat", "pending")


@pytest.mark.parametrize(
    ("field", "theirs", "mine"),
    [("tag", None, "wolf"), ("tag", "<i>", ""), ("status", "sold", "pending")],
)
def test_a_field_that_both_changed_is_shown_with_both_values_and_saved_the_second_time(
    staff: Client, field: str, theirs: str | None, mine: str
) -> None:
    pet = Pet.objects.create(name="Rex", tag="dog")
    fields = read(staff, page_of(pet), "pet_form")
    other, kept, told = ("status", "sold", "sold") if field == "tag" else ("tag", "hound", "“hound”")
    Pet.objects.filter(pk=pet.pk).update(**{field: theirs, other: kept})

    response = sent(staff, page_of(pet), fields | {"name": "Tom", field: mine})

    message = f"While the page was open, someone else changed the {other} to {told}. That change was kept."
    assert {*response.context["adminform"].form.errors} == {field, "__all__"}
    page = response.content.decode()
    assert message in unescape(page)
    assert f"Their value: <b>{escape(theirs or '(empty)')}</b>" in page
    assert f"Your value: <b>{mine or '(empty)'}</b>" in page
    assert Pet.objects.values_list("name", field).get() == ("Rex", theirs)
    shown = fields_of(response, "pet_form")
    current = {field: mine, f"initial-{field}": theirs or "", other: kept, f"initial-{other}": kept}
    assert shown | {"csrfmiddlewaretoken": ""} == fields | {"name": "Tom", "csrfmiddlewaretoken": ""} | current
    sent(staff, page_of(pet), shown)
    assert Pet.objects.values("name", field, other).get() == {"name": "Tom", field: mine or None, other: kept}


def test_a_form_whose_texts_the_account_may_not_change_any_more_saves_nothing_and_shows_what_was_typed() -> None:
    pet, clerk = Pet.objects.create(name="Rex", tag="dog"), granted("change_pet", "change_inventoryitem")
    typed = read(clerk, page_of(pet), "pet_form") | {"name": "Max <b>", "status": "sold"}
    Permission.objects.get(codename="change_pet").user_set.clear()

    response = sent(clerk, page_of(pet), typed)

    told = "Nothing was saved, because you cannot change this here any more: name “Max <b>”."
    assert told in unescape(response.content.decode())
    assert Pet.objects.values_list("name", "status").get() == ("Rex", "available")
    sent(clerk, page_of(pet), fields_of(response, "pet_form"))
    assert Pet.objects.values_list("name", "status").get() == ("Rex", "sold")


def test_each_button_of_the_form_saves_and_leads_to_its_page_with_the_undo(staff: Client) -> None:
    pet = Pet.objects.create(name="Rex", tag="rabbit & hare", status="pending")
    another = f"{reverse('admin:pets_pet_add')}?tag=rabbit+%26+hare&status=pending"
    pages = {"_save": LIST, "_continue": page_of(pet), "_addanother": another}
    for number, (button, url) in enumerate(pages.items()):
        fields = read(staff, page_of(pet), "pet_form") | {"name": f"Max {number}", button: "yes"}

        response = staff.post(page_of(pet), fields, follow=True)

        assert response.redirect_chain == [(url, 302)]
        before = f"Max {number - 1}" if number else "Rex"
        assert messages(response) == [f"“Max {number}”: Name changed from “{before}” to “Max {number}”."]
        assert undo_url(response)
    shown = fields_of(response, "pet_form")  # of another pet, with the tag and the status of this one
    assert (shown["tag"], shown["status"]) == ("rabbit & hare", "pending")
