"""Request limits as staff and commands set them."""

import re
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.management import CommandError, call_command
from django.db import IntegrityError
from django.test import Client
from django.urls import reverse

from petservice.apikeys.models import APIKey
from tests.apikeys.forms import FORM

pytestmark = pytest.mark.django_db

CHANGE = "admin:apikeys_apikey_change"


@pytest.fixture
def redis_url(settings: LazySettings) -> None:
    settings.REDIS_URL = "redis://127.0.0.1/0"


@pytest.mark.parametrize("limit", [0, -1])
def test_the_database_rejects_a_limit_below_one(limit: int) -> None:
    with pytest.raises(IntegrityError):
        APIKey.objects.create_key(name="Acme", requests_per_minute=limit)


@pytest.mark.parametrize("limit", ["", "600"])
def test_staff_create_a_key_with_or_without_a_limit(admin_client: Client, redis_url: None, limit: str) -> None:
    admin_client.post(reverse("admin:apikeys_apikey_add"), FORM | {"requests_per_minute": limit})

    assert APIKey.objects.get().requests_per_minute == (int(limit) if limit else None)


@pytest.mark.parametrize(("before", "after"), [(None, 600), (600, 700), (600, None)])
def test_staff_change_a_limit(admin_client: Client, redis_url: None, before: int | None, after: int | None) -> None:
    api_key, _ = APIKey.objects.create_key(name="Acme", requests_per_minute=before)

    admin_client.post(reverse(CHANGE, args=[api_key.pk]), FORM | {"requests_per_minute": after or ""})

    assert APIKey.objects.get().requests_per_minute == after


@pytest.mark.parametrize("limit", ["0", "-1", "1.5", "100001", "many"])
def test_staff_cannot_set_an_invalid_limit(admin_client: Client, redis_url: None, limit: str) -> None:
    response = admin_client.post(reverse("admin:apikeys_apikey_add"), FORM | {"requests_per_minute": limit})

    assert response.context["adminform"].form.errors["requests_per_minute"]
    assert not APIKey.objects.exists()


def test_without_redis_the_admin_rejects_a_new_key_with_a_limit_and_says_why(admin_client: Client) -> None:
    response = admin_client.post(reverse("admin:apikeys_apikey_add"), FORM | {"requests_per_minute": "600"})

    assert "Limits are not available on this service" in response.content.decode()
    assert not APIKey.objects.exists()


def test_without_redis_staff_can_remove_a_limit_but_not_change_it(admin_client: Client) -> None:
    api_key, _ = APIKey.objects.create_key(name="Acme", requests_per_minute=600)

    def change(**fields: object) -> Any:
        return admin_client.post(reverse(CHANGE, args=[api_key.pk]), FORM | fields)

    assert "Limits are not available on this service" in change(requests_per_minute=700).content.decode()
    assert APIKey.objects.get().requests_per_minute == 600
    assert change(name="Acme's shop", requests_per_minute=600).status_code == 302
    assert APIKey.objects.get().name == "Acme's shop"
    assert change(requests_per_minute="").status_code == 302
    assert APIKey.objects.get().requests_per_minute is None


def limit_field(page: str) -> str:
    return page.split('<div class="form-row field-requests_per_minute">')[1].split("form-row")[0]


def test_without_redis_the_field_of_the_limit_is_disabled(admin_client: Client) -> None:
    field = limit_field(admin_client.get(reverse("admin:apikeys_apikey_add")).content.decode())

    assert re.search("<input[^>]* disabled", field)
    assert "Limits are not available on this service." in field


def test_without_redis_the_page_of_a_key_says_that_its_limit_is_not_enforced(admin_client: Client) -> None:
    api_key, _ = APIKey.objects.create_key(name="Acme", requests_per_minute=600)

    field = limit_field(admin_client.get(reverse(CHANGE, args=[api_key.pk])).content.decode())

    assert "This limit is not enforced" in field
    assert "disabled" not in field, "the limit cannot be removed"


def test_with_redis_the_field_of_the_limit_can_be_used(admin_client: Client, redis_url: None) -> None:
    field = limit_field(admin_client.get(reverse("admin:apikeys_apikey_add")).content.decode())

    assert "disabled" not in field
    assert "Maximum number of requests per minute" in field


def test_create_api_key_sets_a_limit(redis_url: None) -> None:
    call_command("create_api_key", "Acme", "--requests-per-minute", "600")

    assert APIKey.objects.get().requests_per_minute == 600


@pytest.mark.parametrize("limit", ["0", "-1", "", "1.5", "100001", "\u0661", "many"])
def test_create_api_key_rejects_an_invalid_limit(redis_url: None, limit: str) -> None:
    with pytest.raises(CommandError, match="is not a whole number from 1 to 100000"):
        call_command("create_api_key", "Acme", f"--requests-per-minute={limit}")

    assert not APIKey.objects.exists()


def test_create_api_key_rejects_a_limit_without_redis_and_says_why() -> None:
    with pytest.raises(CommandError, match="--requests-per-minute needs Redis: set REDIS_URL"):
        call_command("create_api_key", "Acme", "--requests-per-minute", "600")

    assert not APIKey.objects.exists()
