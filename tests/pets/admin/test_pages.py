"""The texts and the creator of a pet on the pages."""

import re
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from pets import creator
from pets.models import Pet
from pets.services import create_pet
from petservice.accounts import groups
from petservice.journal.models import Event
from tests.backoffice.pages import submit, undo_url
from tests.backoffice.staff import staff as staff_of
from tests.pets.admin.pet_pages import LIST, edit, names, page_of
from tests.pets.changes import delete

pytestmark = pytest.mark.once


def test_markup_in_texts_is_shown_as_text(staff: Client, admin_user: User) -> None:
    markup = "<script>alert(1)</script>"
    pet = create_pet(name=markup, tag=markup, created_by=creator.of_key("pets_test_Ab12Cd34", markup))
    changed = edit(staff, pet, {"tag": "<b>"})
    Event.objects.update(account_name="<s>ada")
    views = ("pets_pet_print", "pets_recentchange_changelist", "pets_trashedpet_changelist", "index")
    urls = [LIST, page_of(pet), reverse("admin:pets_pet_history", args=[pet.pk]), undo_url(changed)]
    another = create_pet(name=markup)
    deleted = delete(admin_user, another).items.get()
    urls += [
        *(reverse(f"admin:{view}") for view in views),
        reverse("admin:pets_trashedpet_change", args=[deleted.pk]),
    ]

    for url in urls:
        page = staff.get(url).content.decode()
        assert "<script>alert(1)" not in page, url
        assert "&lt;script&gt;alert(1)" in page, url
        assert not re.search("<[bs]>(?!Rex)|&amp;lt;", page), url


def creators(client: Client) -> dict[str, str]:
    """Return the creators that the list shows, by the names of the pets."""
    shown = client.get(LIST).content.decode()
    cells = [cell.split("</td>")[0].partition(">")[2] for cell in shown.split('<td class="field-created_by_')[1:]]
    return dict(zip(names(client), cells, strict=True))


def test_staff_see_who_created_a_pet_and_without_permission_for_keys_only_that_it_was_the_api(
    staff: Client, create_key: Callable[..., str]
) -> None:
    key = create_key(name="Acme's web shop")
    client = Client(headers={"X-API-Key": key})
    client.post("/v1/pets", {"name": "By client"}, content_type="application/json")
    client.post("/v1/pets", {"name": "By retry"}, content_type="application/json", headers={"Idempotency-Key": "once"})
    submit(staff, reverse("admin:pets_pet_add"), "pet_form", {"name": "By staff"})
    Pet.objects.create(name="By SQL")

    link = f'<a href="/admin/apikeys/apikey/?q={key[:18]}">Acme&#x27;s web shop</a>'
    assert creators(staff) == {"By client": link, "By retry": link, "By staff": "admin", "By SQL": "unknown"}
    client = staff_of(groups.PETS_AND_INVENTORY)
    assert creators(client) == {"By client": "API", "By retry": "API", "By staff": "admin", "By SQL": "unknown"}
    for one in (client, staff):
        page = one.get(page_of(Pet.objects.get(name="By SQL"))).content.decode()
        assert '<div class="readonly">unknown</div>' in page
    for pet in Pet.objects.all():
        for url in (LIST, page_of(pet)):
            page = client.get(url).content.decode()
            assert "Acme" not in page
            without_chance = re.sub(r'value="\w{64}"', "", page)  # the CSRF token is random
            assert "key" not in without_chance.replace("keyboard", "").lower()
