"""The actions that set, rename and remove tags in bulk, and the suggestions in the form of a pet."""

import re
from unicodedata import normalize

import pytest
from django.test import Client
from django.urls import reverse

from pets.admin.changes import bulk_changes
from pets.models import Pet
from pets.services import create_pet
from petservice.journal.models import Event
from tests.backoffice.pages import fields_of, messages, text_of
from tests.backoffice.staff import granted
from tests.pets.admin.pet_pages import LIST, histories, page_of, someone_else_edits, undo, versions_shown
from tests.pets.admin.test_bulk_actions import act, confirm

pytestmark = pytest.mark.django_db


def tags() -> dict[str, str | None]:
    return dict(Pet.objects.values_list("name", "tag"))


def test_a_tag_is_set_except_where_someone_else_changed_it_since_the_list_was_shown(staff: Client) -> None:
    rex, tom, max_ = create_pet(name="Rex", tag="dog"), create_pet(name="Tom"), create_pet(name="Max", tag="cat")
    url = f"{LIST}?created_from=2026-01-01"
    versions = versions_shown(staff, url)
    someone_else_edits("Rex", tag="hound")
    someone_else_edits("Tom", status="sold")

    page = act(staff, "set_tag", versions, rex, tom, max_, url=url)
    text = text_of(page)
    response = confirm(staff, page, url, new_tag=" Fish")

    assert "Give one tag to 3 pets?" in text
    assert "<dt>Filter of the list</dt><dd>created from 2026-01-01" in text
    assert "1 “hound”" in text
    assert f'data-suggestions="{reverse("admin:pets_pet_tags")}"' in text
    assert messages(response) == [
        "“Rex” was not changed: someone else changed its tag to “hound” in the meantime.",
        "Tag “ Fish” given to 2 pets.",
    ]
    assert tags() == {"Rex": "hound", "Tom": " Fish", "Max": " Fish"}
    assert histories(staff, tom)[:1] == [("admin", "Tag changed from nothing to “ Fish”.")]
    assert Event.objects.filter(kind=Event.Kind.CHANGED).latest("pk").count == 2
    undo(staff, response)
    assert tags() == {"Rex": "hound", "Tom": None, "Max": "cat"}


@pytest.mark.parametrize("tag", ["", "  ", "x" * 256, "a\0b"])
def test_an_invalid_tag_is_rejected_and_the_page_asks_again(staff: Client, tag: str) -> None:
    rex = create_pet(name="Rex", tag="dog")

    page = confirm(staff, act(staff, "set_tag", {}, rex), new_tag=tag)

    assert page.context["form"].errors["new_tag"]
    assert tags() == {"Rex": "dog"}
    assert messages(confirm(staff, page, new_tag="cat")) == ["Tag “cat” given to 1 pet."]


def test_a_tag_is_renamed_in_any_case_on_the_selected_pets(staff: Client) -> None:
    pets = [create_pet(name=name, tag=tag) for name, tag in (("Rex", "Dog"), ("Tom", "DOG"), ("Max", "cat"))]
    create_pet(name="Mia", tag="dog")

    page = act(staff, "rename_tag", versions_shown(staff), *pets[:2])
    assert fields_of(page, "confirmation")["old_tag"].lower() == "dog"
    page = act(staff, "rename_tag", versions_shown(staff), *pets)
    wrong = confirm(staff, page, old_tag="bird", new_tag="dog")
    response = confirm(staff, wrong, old_tag="dog", new_tag="dog")

    assert wrong.context["form"].errors["old_tag"] == ["None of these pets has this tag."]
    assert messages(response) == ["Tag “dog” given to 2 pets."]
    assert tags() == {"Rex": "dog", "Tom": "dog", "Max": "cat", "Mia": "dog"}


def test_a_tag_is_renamed_on_all_pets_after_a_confirmation_if_there_are_many(staff: Client) -> None:
    pets = Pet.objects.bulk_create(Pet(name=f"Pet {number:02}", tag="Dog") for number in range(25))
    pets += Pet.objects.bulk_create([Pet(name="Tom", tag="cat"), Pet(name="Kit", tag="CAT")])

    page = act(staff, "rename_tag", {}, pets[0])
    few = confirm(staff, page, old_tag="Cat", new_tag="Feline", all_pets="on")
    assert messages(few) == ["Tag “Feline” given to 2 pets."]
    many = confirm(staff, page, old_tag="dOG", new_tag="Canine", all_pets="on")
    assert "Change the tag of 25 pets from “dOG” to “Canine”?" in text_of(many)
    assert tags()["Pet 01"] == "Dog"
    someone_else_edits("Pet 07", tag="wolf")
    response = confirm(staff, many)

    assert messages(response) == [
        "“Pet 07” was not changed: someone else changed its tag to “wolf” in the meantime.",
        "Tag “Canine” given to 24 pets.",
    ]
    assert tags()["Pet 07"] == "wolf"
    undo(staff, response)
    assert set(tags().values()) == {"Dog", "wolf", "Feline"}


def test_renaming_a_tag_warns_only_of_pets_that_had_it(staff: Client) -> None:
    pets = [create_pet(name=name, tag=tag) for name, tag in (("Rex", "Dog"), ("Tom", "dog"), ("Max", "cat"))]
    pets.append(create_pet(name="Mia"))
    versions = versions_shown(staff)
    someone_else_edits("Tom", tag="wolf")
    for name in ("Max", "Mia"):
        someone_else_edits(name, tag="bird")

    response = confirm(staff, act(staff, "rename_tag", versions, *pets), old_tag="dog", new_tag="hound")

    assert messages(response) == [
        "“Tom” was not changed: someone else changed its tag to “wolf” in the meantime.",
        "Tag “hound” given to 1 pet.",
    ]


def test_a_tag_of_more_pets_than_one_action_changes_stays(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    pets = Pet.objects.bulk_create(Pet(name="Rex", tag="dog") for _ in range(4))
    page = act(staff, "rename_tag", {}, pets[0])
    monkeypatch.setattr(bulk_changes, "MAX_COUNTED", 3)

    again = confirm(staff, page, new_tag="cat", all_pets="on")

    assert again.context["form"].errors["all_pets"] == [
        "More than 3 pets have this tag. Nothing was changed. Filter the list, and rename the tag on selected pets."
    ]
    assert set(tags().values()) == {"dog"}


def test_tags_are_removed_after_a_confirmation_if_there_are_many(staff: Client) -> None:
    few = Pet.objects.bulk_create(Pet(name=f"Pet {number:02}", tag="dog") for number in range(20))
    assert messages(act(staff, "remove_tag", {}, *few)) == ["Tag removed from 20 pets."]
    assert messages(act(staff, "remove_tag", {}, *few)) == ["Nothing was changed: 20 pets had no tag already."]
    Pet.objects.update(tag="dog")
    create_pet(name="Tom", tag="cat")
    page = act(staff, "remove_tag", {}, few[0], select_across="1", url=f"{LIST}?q=")

    assert "Remove the tags of 21 pets?" in text_of(page)
    assert "<dt>Tags now</dt><dd>20 “dog”, 1 “cat”" in text_of(page)
    assert None not in tags().values()
    assert messages(confirm(staff, page)) == ["Tag removed from 21 pets."]


def test_the_number_of_tags_to_remove_is_the_present_one(staff: Client) -> None:
    pets = Pet.objects.bulk_create(Pet(name=f"Pet {number:02}", tag="dog") for number in range(21))
    versions = versions_shown(staff)
    Pet.objects.filter(name="Pet 07").update(tag=None)

    assert messages(act(staff, "remove_tag", versions, *pets)) == [
        "Tag removed from 20 pets. 1 pet had no tag already."
    ]


def test_the_form_of_a_pet_suggests_tags(staff: Client) -> None:
    for url in (reverse("admin:pets_pet_add"), page_of(create_pet(name="Rex"))):
        page = staff.get(url).content.decode()
        assert 'list="suggestions-tag"' in page
        assert '<datalist id="suggestions-tag">' in page
        assert "pets/suggestions.js" in page


@pytest.mark.parametrize("url", [reverse("admin:index"), f"{LIST}?tag=dog"])
def test_the_spellings_of_a_tag_are_offered_for_merging_on_all_pets_and_the_merge_is_undone(
    staff: Client, url: str
) -> None:
    decomposed = normalize("NFD", "Süß")
    for tag in ("Dog ", "dog", "dog", "DOG", "dóg", "dogs", "Süß", decomposed, "old", None):
        create_pet(name=f"Pet {tag!r}", tag=tag)
    before = tags()

    fields = fields_of(staff.get(url), "merge-1")
    page = staff.post(LIST, fields)

    assert fields["old_tag"] == fields["new_tag"] == "dog"
    assert "All pets with the tag below get the new tag." in page.content.decode()
    response = confirm(staff, page)
    assert messages(response) == ["Tag “dog” given to 2 pets. 2 pets had this tag already."]
    assert sorted(filter(None, tags().values())) == sorted(
        ["dog", "dog", "dog", "dóg", "dogs", "Süß", decomposed, "old"]
    )
    offered = re.findall(r'name="new_tag" value="([^"]*)"', staff.get(reverse("admin:index")).content.decode())
    assert [normalize("NFC", tag) for tag in offered] == ["Süß"]
    undo(staff, response)
    assert tags() == before


def test_only_an_account_that_may_change_tags_is_offered_to_merge_them() -> None:
    for tag in ("Dog", "dog"):
        create_pet(name="Rex", tag=tag)

    for number, permission in enumerate(("view_pet", "change_inventoryitem")):
        client = granted(permission, name=f"{number}")
        for url in (reverse("admin:index"), f"{LIST}?tag=dog"):
            assert "rename_tag" not in client.get(url).content.decode()
