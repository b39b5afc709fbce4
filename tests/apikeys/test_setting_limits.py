"""Request limits as staff set them; tests.apikeys.test_commands has those of the command."""

from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client

from petservice.apikeys.models import APIKey
from tests.apikeys.forms import ADD, FORM, page_of

REDIS_URL = "redis://127.0.0.1/0"
NOT_AVAILABLE = "Limits are not available on this service."


@pytest.mark.parametrize(("before", "after"), [(None, 600), (600, 700), (600, None)])
def test_staff_change_a_limit(
    admin_client: Client, settings: LazySettings, before: int | None, after: int | None
) -> None:
    settings.REDIS_URL = REDIS_URL
    api_key, _ = APIKey.objects.create_key(name="Acme", requests_per_minute=before)

    admin_client.post(page_of(api_key), FORM | {"requests_per_minute": after or ""})

    assert APIKey.objects.get().requests_per_minute == after


@pytest.mark.parametrize(
    ("limit", "redis_url", "error"),
    [
        *((limit, REDIS_URL, "Ensure this value is ") for limit in ("0", "-1", "100001")),
        *((limit, REDIS_URL, "Enter a whole number.") for limit in ("1.5", "many")),
        ("600", REDIS_URL, None),
        ("600", "", NOT_AVAILABLE),
    ],
)
def test_staff_create_a_key_with_a_valid_limit_if_there_is_redis(
    admin_client: Client, settings: LazySettings, limit: str, redis_url: str, error: str | None
) -> None:
    settings.REDIS_URL = redis_url

    response = admin_client.post(ADD, FORM | {"requests_per_minute": limit})

    if error is None:
        assert APIKey.objects.get().requests_per_minute == int(limit)
    else:
        assert error in str(response.context["adminform"].form.errors["requests_per_minute"])
        assert not APIKey.objects.exists()


def test_without_redis_staff_can_remove_a_limit_but_not_change_it(admin_client: Client) -> None:
    api_key, _ = APIKey.objects.create_key(name="Acme", requests_per_minute=600)

    def change(**fields: object) -> Any:
        return admin_client.post(page_of(api_key), FORM | fields)

    assert NOT_AVAILABLE in change(requests_per_minute=700).content.decode()
    assert APIKey.objects.get().requests_per_minute == 600
    assert change(name="Acme's shop", requests_per_minute=600).status_code == 302
    assert APIKey.objects.get().name == "Acme's shop"
    assert change(requests_per_minute="").status_code == 302
    assert APIKey.objects.get().requests_per_minute is None


@pytest.mark.parametrize(
    ("limit", "redis_url", "text", "is_disabled"),
    [
        (None, "", NOT_AVAILABLE, True),
        (600, "", "This limit is not enforced", False),  # staff can remove it
        (None, REDIS_URL, "Maximum number of requests per minute", False),
    ],
)
def test_the_field_of_the_limit_says_whether_limits_are_enforced(
    admin_client: Client, settings: LazySettings, limit: int | None, redis_url: str, text: str, is_disabled: bool
) -> None:
    settings.REDIS_URL = redis_url
    api_key, _ = APIKey.objects.create_key(name="Acme", requests_per_minute=limit)

    shown = admin_client.get(page_of(api_key)).content.decode()
    field = shown.split('<div class="form-row field-requests_per_minute">')[1].split("form-row")[0]

    assert text in field
    assert ("disabled" in field) == is_disabled
