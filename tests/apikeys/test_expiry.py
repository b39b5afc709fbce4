"""The expiry of API keys, as staff set it."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from petservice.apikeys.models import APIKey
from tests.apikeys.forms import ADD, FORM, page_of, status_with

DAY = timedelta(days=1)


def expiry(time: datetime | None) -> dict[str, str]:
    """Return the fields of the form for this expiry."""
    return {
        "lifetime": "own",
        "expires_at_0": f"{time:%Y-%m-%d}" if time else "",
        "expires_at_1": f"{time:%H:%M:%S}" if time else "",
    }


def change(client: Client, record: APIKey, **fields: str) -> Any:
    return client.post(page_of(record), FORM | fields)


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


def test_staff_rename_an_expired_key(admin_client: Client) -> None:
    expired_at = timezone.now() - DAY
    record, _ = APIKey.objects.create_key(name="Acme", expires_at=expired_at)

    change(admin_client, record, name="Acme, old", **expiry(expired_at))

    assert APIKey.objects.get().name == "Acme, old"


@pytest.mark.parametrize(
    ("days", "is_replaced", "new_days", "error"),
    [
        (None, False, -1, "To stop the key immediately, use Revoke."),
        (-1, False, 1, "“Create a replacement”"),
        (-1, False, None, "“Create a replacement”"),
        (1, True, None, "so it must expire"),
    ],
)
def test_an_expiry_that_stops_revives_or_keeps_a_key_for_ever_is_rejected(
    admin_client: Client, days: int | None, is_replaced: bool, new_days: int | None, error: str
) -> None:
    new_key, _ = APIKey.objects.create_key(name="New")
    expires_at, wanted = (timezone.now() + number * DAY if number else None for number in (days, new_days))
    replaced_by = new_key if is_replaced else None
    record, _ = APIKey.objects.create_key(name="Acme", expires_at=expires_at, replaced_by=replaced_by)

    response = change(admin_client, record, **expiry(wanted))

    assert error in response.content.decode()
    assert APIKey.objects.get(pk=record.pk).expires_at == expires_at


def test_a_key_does_not_work_at_the_moment_at_which_it_expires(
    create_key: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    moment = timezone.now()
    plain = create_key(expires_at=moment)
    monkeypatch.setattr(timezone, "now", lambda: moment)

    assert status_with(plain) == 401
