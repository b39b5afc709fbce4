"""The permissions of staff, checked by each page that needs them."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from pets.models import Pet
from petservice.apikeys.models import APIKey

pytestmark = pytest.mark.django_db


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
