"""A form of the admin that is saved without a change is recorded nowhere, and the page says so."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse

from pets.services import create_pet
from petservice.apikeys.models import APIKey
from petservice.journal.models import Event
from tests.backoffice.pages import messages, read, send

pytestmark = pytest.mark.once

RECORDS: dict[str, Callable[[], object]] = {
    "pets_pet": lambda: create_pet(name="Rex", tag="dog"),
    "apikeys_apikey": lambda: APIKey.objects.create_key(name="Acme")[0],
    "auth_user": lambda: User.objects.create_user("ada", is_staff=True),
    "auth_group": lambda: Group.objects.create(name="Vets"),
    "accounts_account": lambda: User.objects.create_user("ada", is_staff=True),
}


@pytest.mark.parametrize("page", RECORDS)
def test_a_save_without_a_change_is_recorded_nowhere(admin_client: Client, page: str) -> None:
    record = RECORDS[page]()
    url = reverse(f"admin:{page}_change", args=[record.pk])  # type: ignore[attr-defined]
    before = Event.objects.count()

    response = send(admin_client, url, read(admin_client, url, f"{page.partition('_')[2]}_form"))

    assert messages(response) == [f"You changed nothing, so {record} is as before."]
    assert Event.objects.count() == before
    assert "Changed." not in admin_client.get(reverse("admin:index")).content.decode()


def test_a_save_without_a_change_that_continues_stays_on_the_page(admin_client: Client) -> None:
    url = reverse("admin:pets_pet_change", args=[create_pet(name="Rex").pk])

    response = admin_client.post(url, read(admin_client, url, "pet_form") | {"_continue": "1"}, follow=True)

    assert response.redirect_chain == [(url, 302)]
