"""The last changes on the admin dashboard."""

import re
from html import unescape

import pytest
from django.contrib.admin.models import ADDITION, CHANGE, DELETION, LogEntry
from django.contrib.auth import get_user_model
from django.test import Client
from django.urls import reverse

from pets.models import Pet
from pets.services import create_pet
from petservice.accounts import groups
from petservice.apikeys.models import APIKey
from petservice.backoffice import dashboard
from store.models import InventoryItem
from tests.backoffice.dashboard.pages import NOW, log, page
from tests.backoffice.staff import granted, staff

pytestmark = pytest.mark.django_db


def changes(client: Client) -> list[str]:
    """Return the HTML of each change on the dashboard."""
    return re.findall(r'<li class="(?:add|change|delete)link">.*?</li>', page(client), re.DOTALL)


def name_in(change: str) -> str:
    return unescape(re.findall(r"<bdi>(.*?)</bdi>", change)[0])


def test_the_last_ten_changes_by_all_staff_are_shown_newest_first() -> None:
    client = staff(is_superuser=True)
    pets = [create_pet(name=f"Pet {number}") for number in range(8)]
    log(ADDITION, pets)
    log(CHANGE, [get_user_model().objects.get(username="someone")])
    log(CHANGE, [APIKey.objects.create_key(name="Acme")[0]])
    log(CHANGE, InventoryItem.objects.filter(pk=pets[0].pk))

    shown = [name_in(change) for change in changes(client)]

    assert len(shown) == dashboard.CHANGES
    assert shown[0] == "Pet 0"
    assert shown[1].startswith("Acme")
    assert shown[2] == "someone"
    assert shown[3:] == [f"Pet {number}" for number in range(7, 0, -1)]


def test_a_change_shows_the_author_the_change_and_the_time() -> None:
    pet = create_pet(name="Rex")
    log(CHANGE, [pet], [{"changed": {"fields": ["Name", "Tag"]}}])
    LogEntry.objects.update(action_time=NOW)

    (change,) = changes(granted("view_pet"))

    assert f'<a href="{reverse("admin:pets_pet_change", args=[pet.pk])}"><bdi>Rex</bdi></a>' in change
    assert '<span class="model-name">pet</span>' in change
    assert "Changed Name and Tag." in change
    assert "<bdi>anna</bdi>" in change
    assert '<time datetime="2026-03-10T12:00:00+00:00">2026-03-10 12:00 UTC</time>' in change


@pytest.mark.parametrize(
    ("flag", "message", "description"),
    [
        (ADDITION, [{"added": {}}], "Added."),
        (ADDITION, "Created as replacement for Acme.", "Added. Created as replacement for Acme."),
        (CHANGE, "Revoked.", "Revoked."),
        (CHANGE, "", "Changed."),
        (DELETION, "", "Deleted."),
    ],
)
def test_a_change_is_described_in_words_and_not_only_by_its_icon(flag: int, message: object, description: str) -> None:
    log(flag, [create_pet(name="Rex")], message)

    (change,) = changes(granted("view_pet"))

    assert f'<span class="change-text">{description}</span>' in change


def test_a_deletion_has_no_link() -> None:
    stays, goes = create_pet(name="Stays"), create_pet(name="Goes")
    log(CHANGE, [stays, goes])
    log(DELETION, [goes])
    Pet.objects.filter(pk=goes.pk).delete()

    linked = [(name_in(change), "<a " in change) for change in changes(granted("view_pet"))]

    assert linked == [("Goes", False), ("Goes", True), ("Stays", True)]


def test_changes_that_the_user_may_not_view_do_not_displace_others() -> None:
    log(CHANGE, [create_pet(name="Rex")])
    log(CHANGE, [APIKey.objects.create_key(name="Acme")[0]] * 2 * dashboard.CHANGES)

    assert [name_in(change) for change in changes(staff(groups.PETS_AND_INVENTORY))] == ["Rex"]


def test_the_link_to_a_deleted_record_leads_to_an_explanation(admin_client: Client) -> None:
    goes = create_pet(name="Goes")
    log(CHANGE, [goes, Pet(id="nonsense", name="Rex")])
    Pet.objects.all().delete()

    urls = re.findall(r'<a href="(/admin/pets/pet/[^"]+)"', "".join(changes(staff(is_superuser=True))))

    assert len(urls) == 2
    for url in urls:
        assert "Perhaps it was deleted?" in admin_client.get(url, follow=True).content.decode()


def test_markup_in_names_and_messages_is_shown_as_text() -> None:
    pet = create_pet(name="<b>Tom</b> & Co")
    log(CHANGE, [pet], "Now <i>older</i>.")
    log(CHANGE, [pet], [{"changed": {"name": "tag", "object": "<u>x</u>", "fields": ["Name"]}}])
    get_user_model().objects.filter(username="anna").update(username="<s>anna</s>")

    shown = page(granted("view_pet"))

    assert not re.search("<[bisu]>", shown)
    assert "&amp;lt;" not in shown
    for text in ("&lt;b&gt;Tom&lt;/b&gt; &amp; Co", "Now &lt;i&gt;older&lt;/i&gt;.", "&lt;u&gt;x", "&lt;s&gt;anna"):
        assert text in shown
