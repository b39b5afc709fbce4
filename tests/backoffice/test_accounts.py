"""The permissions and the deletion of staff accounts."""

from html import unescape
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, Permission
from django.test import Client
from django.urls import reverse

from pets.models import Pet
from petservice.accounts import groups
from petservice.apikeys.models import APIKey
from tests.backoffice.pages import submit

pytestmark = pytest.mark.django_db

LIST = reverse("admin:auth_user_changelist")


@pytest.fixture
def accountant(django_user_model: Any) -> Client:
    """A client of staff who may only manage accounts."""
    user = django_user_model.objects.create_user("accountant", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(content_type__app_label="auth"))
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def key_creator(django_user_model: Any) -> Any:
    """An account whose history names an API key."""
    user = django_user_model.objects.create_user("maker", is_staff=True)
    LogEntry.objects.log_actions(user.pk, [APIKey.objects.create_key(name="Acme")[0]], 1, "Added.")
    return user


def _forms(user: Any) -> list[tuple[str, dict[str, Any]]]:
    """Return the URLs and fields of both ways to delete an account: on its page and in the list."""
    page = reverse("admin:auth_user_delete", args=[user.pk])
    return [(page, {}), (LIST, {"action": "delete_selected", "_selected_action": [user.pk]})]


def test_an_account_with_a_change_history_is_not_deleted(accountant: Client, key_creator: Any) -> None:
    for url, fields in _forms(key_creator):
        response = accountant.post(url, fields | {"post": "yes"})

        assert "Change history of maker" in response.content.decode()
    assert LogEntry.objects.filter(user=key_creator).exists()


def test_deleting_an_account_shows_no_keys_to_staff_without_the_permission(
    accountant: Client, key_creator: Any
) -> None:
    for url, fields in _forms(key_creator):
        response = accountant.post(url, fields) if fields else accountant.get(url)

        assert response.status_code == 200
        assert "Acme" not in response.content.decode()
        assert "pets_test_" not in response.content.decode()


def test_the_history_of_an_account_shows_the_old_and_the_new_values(
    admin_client: Client, django_user_model: Any
) -> None:
    pets = Group.objects.get(name=groups.PETS_AND_INVENTORY)
    keys = Group.objects.get(name=groups.PETS_INVENTORY_AND_KEYS)
    user = django_user_model.objects.create_user("ada", is_staff=True)
    user.groups.set([pets])

    url = reverse("admin:auth_user_change", args=[user.pk])
    submit(admin_client, url, "user_form", {"email": "ada@example.com", "groups": [keys.pk], "is_active": "on"})

    page = unescape(admin_client.get(reverse("admin:auth_user_history", args=[user.pk])).content.decode())
    assert "Email address changed from nothing to “ada@example.com”." in page
    assert "Staff status changed from yes to no." in page
    assert f"Groups: added “{keys}”, removed “{pets}”." in page
    assert "Active changed" not in page


def test_the_history_of_an_account_contains_no_password(admin_client: Client, django_user_model: Any) -> None:
    user = django_user_model.objects.create_user("ada", password="an old one")
    form = {"usable_password": "true", "password1": "a new long one", "password2": "a new long one"}

    admin_client.post(reverse("admin:auth_user_password_change", args=[user.pk]), form)

    (entry,) = LogEntry.objects.filter(object_id=user.pk)
    assert entry.get_change_message() == "Password changed."


def test_an_account_without_a_change_history_is_deleted(accountant: Client, django_user_model: Any) -> None:
    for name in ("one", "two"):
        user = django_user_model.objects.create_user(name)
        url, fields = _forms(user)[name == "two"]

        accountant.post(url, fields | {"post": "yes"})

        assert not django_user_model.objects.filter(username=name).exists()


def staff_with(django_user_model: Any, *permissions: str) -> Client:
    """Return a client of staff with these permissions and no others."""
    user = django_user_model.objects.create_user("clerk", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client


def test_staff_without_the_permission_get_no_tag_suggestions(django_user_model: Any) -> None:
    Pet.objects.create(name="Rex", tag="secret")
    client = staff_with(django_user_model, "view_apikey")

    response = client.get(reverse("admin:pets_pet_tags"), {"q": "s"})

    assert response.status_code == 403
    assert "secret" not in response.content.decode()


def test_staff_who_may_only_view_the_inventory_cannot_change_a_status(django_user_model: Any) -> None:
    pet = Pet.objects.create(name="Rex")
    client = staff_with(django_user_model, "view_inventoryitem", "view_pet")

    response = client.post(
        reverse("admin:store_inventoryitem_changelist"),
        {
            "form-TOTAL_FORMS": "1",
            "form-INITIAL_FORMS": "1",
            "form-0-id": pet.pk,
            "form-0-status": "sold",
            "_save": "1",
        },
    )

    assert response.status_code == 403
    pet.refresh_from_db()
    assert pet.status == "available"


def test_staff_who_may_not_add_keys_cannot_rotate_one(django_user_model: Any) -> None:
    api_key, _ = APIKey.objects.create_key(name="Acme")
    client = staff_with(django_user_model, "view_apikey", "change_apikey")

    response = client.post(reverse("admin:apikeys_apikey_rotate", args=[api_key.pk]), {"overlap": "0"})

    assert response.status_code == 403
    assert list(APIKey.objects.all()) == [api_key]
