"""The accounts of staff."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from pets.models import Pet
from petservice.apikeys.models import APIKey

pytestmark = pytest.mark.django_db

LIST = reverse("admin:auth_user_changelist")


@pytest.fixture
def accountant(django_user_model: Any) -> Client:
    """Staff who look after accounts, and after nothing else."""
    user = django_user_model.objects.create_user("accountant", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(content_type__app_label="auth"))
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def key_maker(django_user_model: Any) -> Any:
    """An account whose history names an API key."""
    user = django_user_model.objects.create_user("maker", is_staff=True)
    LogEntry.objects.log_actions(user.pk, [APIKey.objects.create_key(name="Acme")[0]], 1, "Added.")
    return user


def _forms(user: Any) -> list[tuple[str, dict[str, Any]]]:
    """Both ways to delete an account: on its page, and in the list."""
    page = reverse("admin:auth_user_delete", args=[user.pk])
    return [(page, {}), (LIST, {"action": "delete_selected", "_selected_action": [user.pk]})]


def test_who_has_changed_something_is_not_deleted(accountant: Client, key_maker: Any) -> None:
    for address, fields in _forms(key_maker):
        response = accountant.post(address, fields | {"post": "yes"})

        assert "The history of what maker has changed" in response.content.decode()
    assert LogEntry.objects.filter(user=key_maker).exists()


def test_who_may_not_see_keys_sees_none_where_their_maker_would_be_deleted(accountant: Client, key_maker: Any) -> None:
    for address, fields in _forms(key_maker):
        response = accountant.post(address, fields) if fields else accountant.get(address)

        assert response.status_code == 200
        assert "Acme" not in response.content.decode()
        assert "pets_test_" not in response.content.decode()


def test_who_has_changed_nothing_is_deleted(accountant: Client, django_user_model: Any) -> None:
    for name in ("one", "two"):
        user = django_user_model.objects.create_user(name)
        address, fields = _forms(user)[name == "two"]

        accountant.post(address, fields | {"post": "yes"})

        assert not django_user_model.objects.filter(username=name).exists()


def staff_with(django_user_model: Any, *permissions: str) -> Client:
    """A member of staff with these permissions and no others."""
    user = django_user_model.objects.create_user("clerk", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client


def test_who_may_not_see_pets_is_told_no_tags(django_user_model: Any) -> None:
    Pet.objects.create(name="Rex", tag="secret")
    client = staff_with(django_user_model, "view_apikey")

    response = client.get(reverse("admin:pets_pet_tags"), {"q": "s"})

    assert response.status_code == 403
    assert "secret" not in response.content.decode()


def test_who_may_only_see_the_inventory_changes_no_status(django_user_model: Any) -> None:
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


def test_who_may_not_make_keys_makes_none_by_rotating(django_user_model: Any) -> None:
    api_key, _ = APIKey.objects.create_key(name="Acme")
    client = staff_with(django_user_model, "view_apikey", "change_apikey")

    response = client.post(reverse("admin:apikeys_apikey_rotate", args=[api_key.pk]), {"overlap": "0"})

    assert response.status_code == 403
    assert list(APIKey.objects.all()) == [api_key]
