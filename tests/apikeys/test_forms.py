"""The forms of API keys: their defaults, the expiry and the request limit, as staff set them."""

import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client
from django.utils import timezone

from petservice.apikeys.models import APIKey
from petservice.journal.models import Event
from tests.apikeys.forms import ADD, FORM, page_of
from tests.backoffice.clock import Clock

# PostgreSQL ends a transaction after an error, which SQLite does not.
pytestmark = pytest.mark.once(on="postgresql")

DAY = timedelta(days=1)
REDIS_URL = "redis://127.0.0.1/0"


def expiry(time: datetime | None) -> dict[str, str]:
    """Return the fields of the form for this expiry."""
    return {"expires_at": f"{time:%Y-%m-%d}" if time else ""}


def change(client: Client, record: APIKey, **fields: Any) -> Any:
    return client.post(page_of(record), FORM | fields)


# A new key.


def test_a_new_key_is_read_only_and_expires_in_90_days_unless_staff_choose_otherwise(
    admin_client: Client, clock: Clock
) -> None:
    response = admin_client.get(ADD)
    form = response.context["adminform"].form

    assert (form.get_initial_for_field(form.fields["access"], "access"), form["lifetime"].initial) == ("read", "90")
    assert form.initial.keys() == {"access"}
    labels = dict(form.fields["lifetime"].choices)
    assert labels["90"] == f"After 90 days (on {clock.now + 90 * DAY:%Y-%m-%d})"
    assert list(labels) == ["30", "90", "365", "never"]
    # Each button would lead to the page that shows the key.
    assert 'name="_save"' in response.content.decode()
    assert not re.search("_addanother|_continue", response.content.decode())


def test_an_unclear_or_impossible_choice_creates_no_key(admin_client: Client, settings: LazySettings) -> None:
    for fields, error in [
        ({"expires_at": "2020-01-01"}, "This day is in the past"),
        ({"lifetime": "90", "expires_at": "x"}, "Write a day as year-month-day"),
        ({"expires_at": "9999-12-31"}, "No key can expire on this day."),
        ({"name": ""}, "This field is required."),
        ({"lifetime": "7"}, "Select a valid choice."),
        ({"lifetime": ""}, "This field is required."),
        ({"access": ""}, "This field is required."),
        *(({"requests_per_minute": limit}, "Ensure this value is ") for limit in ("0", "-1", "100001")),
        *(({"requests_per_minute": limit}, "Enter a whole number.") for limit in ("1.5", "many")),
    ]:
        settings.REDIS_URL = REDIS_URL

        form = admin_client.post(ADD, FORM | fields).context["adminform"].form

        assert error in str(form.errors), fields
        assert not APIKey.objects.exists()
    assert not Event.objects.filter(kind__startswith="key_").exists()


# The expiry.


@pytest.mark.parametrize(
    ("days", "is_replaced", "new_days", "error"),
    [
        (10, False, 1, None),
        (10, False, 100, None),
        (10, False, None, None),
        (-1, False, -1, None),  # only the name of the expired key changes
        (None, False, -1, "To stop the key immediately, use Revoke."),
        (-1, False, 1, "“Create a replacement”"),
        (-1, False, None, "“Create a replacement”"),
        (1, True, None, "so it must expire"),
    ],
)
def test_staff_change_the_expiry_of_a_usable_key_unless_it_stops_the_key_or_keeps_a_replaced_one_for_ever(
    admin_client: Client, days: int | None, is_replaced: bool, new_days: int | None, error: str | None
) -> None:
    now = timezone.now().replace(hour=23, minute=59, second=59, microsecond=0)
    expires_at, wanted = (now + number * DAY if number else None for number in (days, new_days))
    replaced_by = APIKey.objects.create_key(name="New")[0] if is_replaced else None
    record, _ = APIKey.objects.create_key(name="Acme", expires_at=expires_at, replaced_by=replaced_by)

    response = change(admin_client, record, name="Acme shop", **expiry(wanted))

    record.refresh_from_db()
    assert (record.name, record.expires_at) == (("Acme", expires_at) if error else ("Acme shop", wanted))
    assert error is None or error in response.content.decode()


# The request limit; tests.apikeys.test_commands has that of the command.


def test_staff_create_a_key_with_a_limit_change_it_and_remove_it(admin_client: Client, settings: LazySettings) -> None:
    settings.REDIS_URL = REDIS_URL
    admin_client.post(ADD, FORM | {"requests_per_minute": "600"})

    for limit in (600, 700, None, 5):
        change(admin_client, APIKey.objects.get(), requests_per_minute=limit or "")
        assert APIKey.objects.get().requests_per_minute == limit


def test_without_redis_the_forms_have_no_limit(admin_client: Client) -> None:
    api_key, _ = APIKey.objects.create_key(name="Acme", requests_per_minute=600)
    assert "requests_per_minute" not in admin_client.get(ADD).content.decode()
    assert "600" in admin_client.get(page_of(api_key)).content.decode()

    assert change(admin_client, api_key, name="Zoo", requests_per_minute=700).status_code == 302

    assert [*APIKey.objects.values_list("name", "requests_per_minute")] == [("Zoo", 600)]
