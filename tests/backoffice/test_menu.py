"""The menu and the breadcrumbs of the pages of the admin; the crawl looks at those of every page."""

import re
from html import unescape

import pytest
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.test import Client
from django.urls import reverse

from pets.models import Pet
from petservice.accounts.models import Account
from petservice.apikeys.models import APIKey

pytestmark = [pytest.mark.django_db, pytest.mark.once]


def test_the_pages_of_django_are_at_the_end_of_the_menu_under_advanced(admin_client: Client) -> None:
    page = admin_client.get(reverse("admin:index")).content.decode()

    for menu in re.findall(r'<ul class="menu">(.*?)</ul>', page, re.DOTALL):
        first, _, advanced = menu.partition(">Advanced<")
        assert re.findall("<a [^>]*>([^<]*)</a>", advanced) == ["Groups", "Users", "Installation"]
        assert re.findall("<a [^>]*>([^<]*)</a>", first)[-2:] == ["Staff accounts", "Audit"]


def test_the_pages_of_apps_lead_to_the_dashboard(admin_client: Client) -> None:
    for app in ("pets", "apikeys", "auth"):
        response = admin_client.get(reverse("admin:app_list", args=[app]))
        assert response.headers["Location"] == reverse("admin:index")


def test_pages_without_a_login_have_no_menu(client: Client) -> None:
    assert '<ul class="menu">' not in client.get(reverse("admin:login")).content.decode()


DASHBOARD = ("Dashboard", "/admin/")
PETS = ("Pets", "/admin/pets/pet/")
KEYS, ACCOUNTS = ("API keys", "/admin/apikeys/apikey/"), ("Staff accounts", "/admin/accounts/account/")


def crumbs(page: str) -> list[tuple[str, str] | str]:
    """Return the text and the URL of each page above this one, and the name of this one."""
    (navigation,) = re.findall(r'<div class="breadcrumbs">(.*?)</div>', page, re.DOTALL)
    above = [(unescape(text), url) for url, text in re.findall(r'<a href="([^"]*)">([^<]*)</a>', navigation)]
    (current,) = re.findall(r'<span aria-current="page">([^<]*)</span>', navigation)
    return [*above, unescape(current)]


def test_breadcrumbs_lead_from_the_dashboard_to_the_list_and_the_record(admin_client: Client) -> None:
    pet = Pet.objects.create(name="Rex <b>")
    key, _ = APIKey.objects.create_key(name="Acme")
    account = Account.objects.create(username="ada", is_staff=True)

    def of(name: str, *args: object) -> list[tuple[str, str] | str]:
        return crumbs(admin_client.get(reverse(f"admin:{name}", args=args)).content.decode())

    rex = ("Rex <b>", f"/admin/pets/pet/{pet.pk}/change/")
    assert of("pets_pet_changelist") == [DASHBOARD, "Pets"]
    assert of("pets_pet_add") == [DASHBOARD, PETS, "Add pet"]
    assert of("pets_pet_change", pet.pk) == [DASHBOARD, PETS, "Rex <b>"]
    assert of("pets_pet_history", pet.pk) == [DASHBOARD, PETS, rex, "Change history"]
    assert of("pets_pet_delete", pet.pk) == [DASHBOARD, PETS, rex, "Delete"]
    assert of("pets_pet_import") == [DASHBOARD, PETS, "Import pets"]
    assert of("pets_pet_export") == [DASHBOARD, PETS, "Export pets"]
    assert of("apikeys_apikey_revoke", key.pk) == [DASHBOARD, KEYS, f"Revoke {key}?"]
    ada = ("ada", f"/admin/accounts/account/{account.pk}/change/")
    assert of("accounts_account_deactivate", account.pk) == [DASHBOARD, ACCOUNTS, ada, "Deactivate"]
    assert of("journal_event_changelist") == [DASHBOARD, "Audit"]
    assert of("password_change") == [DASHBOARD, "Password change"]
    confirmation = admin_client.post(PETS[1], {"action": "delete_selected", ACTION_CHECKBOX_NAME: pet.pk})
    assert crumbs(confirmation.content.decode()) == [DASHBOARD, PETS, "Delete pets"]
