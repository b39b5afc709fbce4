"""The action that sets or removes the tag of many pets, the offer to merge spellings, and suggested tags."""

import re
from unicodedata import normalize

import pytest
from django.test import Client
from django.urls import reverse

from pets.admin.changes import actions
from pets.models import Pet
from pets.search import tags as tag_suggestions
from petservice.journal.models import Event
from tests.backoffice.pages import fields_of, messages, text_of
from tests.backoffice.staff import granted
from tests.pets.admin.pet_pages import LIST, histories, page_of, sent, someone_else_edits, undo, versions_shown
from tests.pets.admin.test_bulk_actions import act, confirm

pytestmark = pytest.mark.django_db


def tags() -> dict[str, str | None]:
    return dict(Pet.objects.values_list("name", "tag"))


def test_a_tag_is_set_except_where_someone_else_changed_it_since_the_list_was_shown(staff: Client) -> None:
    rex, tom, max_ = (
        Pet.objects.create(name="Rex", tag="dog"),
        Pet.objects.create(name="Tom"),
        Pet.objects.create(name="Max", tag="cat"),
    )
    versions = versions_shown(staff)
    someone_else_edits("Rex", tag="hound")
    someone_else_edits("Tom", status="sold")

    page = act(staff, "set_tag", versions, rex, tom, max_)
    text = text_of(page)
    response = confirm(staff, page, new_tag=" Fish")

    assert "Give one tag to 3 pets?" in text
    assert "1 “hound”" in text
    assert f'data-suggestions="{reverse("admin:pets_pet_tags")}"' in text
    assert messages(response) == [
        "1 pet was not changed, because someone else changed it in the meantime: “Rex” (tag “hound”).",
        "Tag “ Fish” given to 2 pets.",
    ]
    assert tags() == {"Rex": "hound", "Tom": " Fish", "Max": " Fish"}
    assert histories(staff, tom)[:1] == [("admin", "Tag changed from nothing to “ Fish”.")]
    assert Event.objects.filter(kind=Event.Kind.CHANGED).latest("pk").count == 2
    undo(staff, response)
    assert tags() == {"Rex": "hound", "Tom": None, "Max": "cat"}


@pytest.mark.parametrize("tag", ["  ", "x" * 256, "a\0b"])
def test_an_invalid_tag_is_rejected_and_the_page_asks_again(staff: Client, tag: str) -> None:
    rex = Pet.objects.create(name="Rex", tag="dog")

    page = confirm(staff, act(staff, "set_tag", {}, rex), new_tag=tag)

    assert page.context["form"].errors["new_tag"]
    assert tags() == {"Rex": "dog"}
    assert messages(confirm(staff, page, new_tag="cat")) == ["Tag “cat” given to “Rex”."]


def test_an_empty_tag_removes_the_present_ones(staff: Client) -> None:
    pets = [Pet.objects.create(name=name, tag=tag) for name, tag in (("Rex", "dog"), ("Tom", "cat"), ("Max", None))]
    page = act(staff, "set_tag", {}, pets[0], select_across="1")

    assert "<dt>Tags now</dt><dd>1 “dog”, 1 “cat”, 1 without a tag" in text_of(page)
    response = confirm(staff, page, new_tag="")
    assert messages(response) == ["Tag removed from 2 pets. 1 pet had no tag already."]
    assert set(tags().values()) == {None}
    undo(staff, response)
    assert tags() == {"Rex": "dog", "Tom": "cat", "Max": None}


def test_the_form_of_a_pet_suggests_tags(staff: Client) -> None:
    for url in (reverse("admin:pets_pet_add"), page_of(Pet.objects.create(name="Rex"))):
        page = staff.get(url).content.decode()
        assert f'data-suggestions="{reverse("admin:pets_pet_tags")}"' in page
        assert "pets/suggestions.js" in page
        assert "A category, for example the kind of animal.<" in page
        assert "Optional." not in page  # the label says so


def test_the_spellings_of_a_tag_are_offered_for_merging_on_all_pets_and_the_merge_is_undone(
    staff: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = reverse("admin:index")
    decomposed = normalize("NFD", "Süß")
    for tag in ("Dog ", "dog", "dog", "DOG", "dóg", "dogs", "Süß", decomposed, "old", None):
        Pet.objects.create(name=f"Pet {tag!r}", tag=tag)
    before = tags()

    for number, permission in enumerate(("view_pet", "change_inventoryitem")):  # which are not enough to change tags
        assert "spellings_of" not in granted(permission, name=f"{number}").get(url).content.decode()
    fields = fields_of(staff.get(url), "merge-1")
    page = staff.post(LIST, fields | {"spellings_of": "d\0og"})  # NUL, which PostgreSQL does not take, is left out

    assert fields["new_tag"] == "dog"
    assert "Give one tag to 4 pets?" in page.content.decode()
    monkeypatch.setattr(actions, "MAX_COUNTED", 3)  # more than that have the tag, and fewer another spelling
    assert "Give one tag to 2 pets?" in text_of(staff.post(LIST, fields))
    response = confirm(staff, page)
    assert messages(response) == ["Tag “dog” given to 2 pets. 2 pets had this tag already."]
    assert sorted(filter(None, tags().values())) == sorted(
        ["dog", "dog", "dog", "dóg", "dogs", "Süß", decomposed, "old"]
    )
    offered = re.findall(r'name="new_tag" value="([^"]*)"', staff.get(reverse("admin:index")).content.decode())
    assert [normalize("NFC", tag) for tag in offered] == ["Süß"]
    undo(staff, response)
    assert tags() == before
    Pet.objects.update(tag=None)
    assert messages(sent(staff, LIST, fields)) == ["No such pets were found. Nothing was changed."]


# Suggested tags.


def test_a_limited_number_of_tags_of_the_newest_pets_is_suggested_the_most_used_first(
    staff: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def suggestions(text: str) -> list[str]:
        return [tag.lower().strip() for tag in staff.get(f"{LIST}tags/", {"q": text}).json()["suggestions"]]

    for tag in ("dog", "Dog", "dingo", "cat", "DRAGON", "Żuk", "żuk ", None):
        Pet.objects.create(name="Rex", tag=tag)
    for text, found in (("d", ["dog", "dingo", "dragon"]), (" D", ["dog", "dingo", "dragon"]), ("z", ["żuk"])):
        assert suggestions(text) == found
    assert suggestions("") == ["dog", "żuk", "cat", "dingo", "dragon"]
    assert suggestions("x\0") == []
    Pet.objects.bulk_create(Pet(name="Rex", tag=f"tag {number:03}") for number in range(50))
    assert suggestions("TAG") == [f"tag {number:03}" for number in range(tag_suggestions._MAX_SUGGESTIONS)]
    monkeypatch.setattr(tag_suggestions, "_NEWEST", 5)
    for tag in ("old b", "OLD A", "old b", "o", "Often", "often", "once", None):
        Pet.objects.create(name="Rex", tag=tag)
    assert suggestions("o") == ["often", "o", "once"]
