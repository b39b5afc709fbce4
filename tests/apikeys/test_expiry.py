"""The expiry of API keys, as staff set it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from petservice.apikeys.models import APIKey
from tests.apikeys.forms import ADD, FORM

DAY = timedelta(days=1)


def expiry(time: datetime | None) -> dict[str, str]:
    """Return the fields of the form for this expiry."""
    return {
        "lifetime": "own",
        "expires_at_0": f"{time:%Y-%m-%d}" if time else "",
        "expires_at_1": f"{time:%H:%M:%S}" if time else "",
    }


def change(client: Client, record: APIKey, **fields: str) -> Any:
    return client.post(reverse("admin:apikeys_apikey_change", args=[record.pk]), FORM | fields)


def test_a_day_without_a_time_means_the_end_of_that_day(admin_client: Client) -> None:
    assert "A day without a time means the end of that day" in admin_client.get(ADD).content.decode()

    admin_client.post(ADD, FORM | {"lifetime": "own", "expires_at_0": "2099-12-24", "expires_at_1": ""})

    assert APIKey.objects.get().expires_at == datetime(2099, 12, 24, 23, 59, 59, tzinfo=UTC)
    change(admin_client, APIKey.objects.get(), **expiry(datetime(2099, 12, 24, tzinfo=UTC)))
    assert APIKey.objects.get().expires_at == datetime(2099, 12, 24, tzinfo=UTC), "midnight is not the end of a day"


@pytest.mark.parametrize("days", [1, 100, None])
def test_staff_change_the_expiry_of_a_usable_key(admin_client: Client, days: int | None) -> None:
    record, _ = APIKey.objects.create_key(name="Acme", expires_at=timezone.now() + 10 * DAY)
    wanted = (timezone.now() + days * DAY).replace(microsecond=0) if days else None

    response = change(admin_client, record, **expiry(wanted))

    assert response.status_code == 302
    assert APIKey.objects.get().expires_at == wanted


def test_an_expiry_in_the_past_does_not_stop_a_key(admin_client: Client) -> None:
    record, _ = APIKey.objects.create_key(name="Acme")

    response = change(admin_client, record, **expiry(timezone.now() - DAY))

    assert "To stop the key immediately, use Revoke." in response.content.decode()
    assert APIKey.objects.get().expires_at is None


@pytest.mark.parametrize("days", [1, None])
def test_an_expired_key_cannot_be_made_valid_again(admin_client: Client, days: int | None) -> None:
    expired_at = timezone.now() - DAY
    record, _ = APIKey.objects.create_key(name="Acme", expires_at=expired_at)

    response = change(admin_client, record, **expiry(timezone.now() + days * DAY if days else None))

    assert "“Create a replacement”" in response.content.decode()
    assert APIKey.objects.get().expires_at == expired_at


def test_staff_rename_an_expired_key(admin_client: Client) -> None:
    expired_at = timezone.now() - DAY
    record, _ = APIKey.objects.create_key(name="Acme", expires_at=expired_at)

    change(admin_client, record, name="Acme, old", **expiry(expired_at))

    assert APIKey.objects.get().name == "Acme, old"


def test_a_replaced_key_keeps_an_expiry(admin_client: Client) -> None:
    record, _ = APIKey.objects.create_key(name="Acme")
    record.rotate(grace_period=DAY, expires_at=None)

    response = change(admin_client, record, **expiry(None))

    assert "so it must expire" in response.content.decode()
    assert APIKey.objects.get(pk=record.pk).expires_at is not None
