"""The forms of API keys: their defaults, the expiry and the request limit, as staff set them, and replacements."""

from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import Mock

import pytest
from django.conf import LazySettings
from django.db import DatabaseError
from django.test import Client
from django.utils import timezone

from petservice.apikeys import admin
from petservice.apikeys.models import APIKey
from petservice.journal.models import Event
from tests.apikeys.forms import ADD, FORM, LIST, ROTATE, page_of, shown_key, status_with
from tests.backoffice.clock import Clock
from tests.backoffice.staff import granted

# PostgreSQL ends a transaction after an error, which SQLite does not.
pytestmark = pytest.mark.once(on="postgresql")

DAY = timedelta(days=1)
PAST = datetime(2020, 1, 1, tzinfo=UTC)
REDIS_URL = "redis://127.0.0.1/0"


def change(client: Client, record: APIKey, **fields: Any) -> Any:
    return client.post(page_of(record), FORM | fields)


# A new key.


def test_a_new_key_is_read_only_and_expires_in_90_days_unless_staff_choose_otherwise(
    admin_client: Client, clock: Clock
) -> None:
    form = admin_client.get(f"{ADD}?access=write").context["form"]

    assert (form.get_initial_for_field(form.fields["access"], "access"), form["lifetime"].initial) == ("read", "90")
    assert form.initial.keys() == {"access"}
    labels = dict(form.fields["lifetime"].choices)
    assert labels["90"] == f"After 90 days (on {clock.now + 90 * DAY:%Y-%m-%d})"
    assert list(labels) == ["30", "90", "365", "never"]


def test_an_unclear_or_impossible_choice_creates_no_key(admin_client: Client, settings: LazySettings) -> None:
    for fields, error in [
        ({"expires_at": "2020-01-01"}, "This day is in the past"),
        ({"lifetime": "90", "expires_at": "x"}, "Write a day as year-month-day"),
        ({"expires_at": "9999-12-31"}, "Ensure this value is less than or equal to 9999-12-30."),
        ({"name": ""}, "This field is required."),
        ({"lifetime": "7"}, "Select a valid choice."),
        ({"lifetime": ""}, "This field is required."),
        ({"access": ""}, "This field is required."),
        ({"form_token": ""}, "This field is required."),
        *(({"requests_per_minute": limit}, "Ensure this value is ") for limit in ("0", "-1", "100001")),
        *(({"requests_per_minute": limit}, "Enter a whole number.") for limit in ("1.5", "many")),
    ]:
        settings.REDIS_URL = REDIS_URL

        page = admin_client.post(ADD, FORM | fields).content.decode()

        assert error in page, fields
        assert not APIKey.objects.exists()
    assert not Event.objects.filter(kind__startswith="key_").exists()


# The expiry.


@pytest.mark.parametrize(
    ("days", "is_replaced", "new_days", "error"),
    [
        (10, False, 100, None),
        (10, False, None, None),
        (-1, False, -1, None),  # only the name of the expired key changes
        (None, False, -1, "To stop a key now, use Revoke."),
        (-1, False, 1, "Nothing was saved, because you cannot change this here any more"),
        (-1, False, None, "Nothing was saved, because you cannot change this here any more"),
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

    # The page can be open from before the expiry.
    shown, sent = (f"{time:%Y-%m-%d}" if time else "" for time in (expires_at, wanted))
    response = change(admin_client, record, name="Acme shop", **{"initial-expires_at": shown, "expires_at": sent})

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


# Revocations and replacements.


def test_no_key_is_revoked_if_the_audit_cannot_be_written(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    record, plain = APIKey.objects.create_key(name="Acme")
    monkeypatch.setattr(admin, "add_event", Mock(side_effect=DatabaseError))

    with pytest.raises(DatabaseError):
        admin_client.post(page_of(record, "revoke"))

    assert status_with(plain) == 200


@pytest.mark.parametrize(
    ("lifetime", "own_day", "days"),
    [("same", "", 90), ("30", "", 30), ("never", "", None), ("never", "2099-12-24", None)],
)
def test_staff_choose_when_a_replacement_expires(
    admin_client: Client, clock: Clock, lifetime: str, own_day: str, days: int | None
) -> None:
    record, _ = APIKey.objects.create_key(name="Acme", created_at=clock.now - 85 * DAY, expires_at=clock.now + 5 * DAY)
    url = page_of(record, "rotate")

    same = f"As long as the old key (until {clock.now + 90 * DAY:%Y-%m-%d %H:%M} UTC)"
    assert f'<option value="same" selected>{same}' in admin_client.get(url).content.decode()
    past = admin_client.post(url, ROTATE | {"expires_at": "2020-01-01"}).content.decode()
    assert "This day is in the past." in past
    chosen = {"lifetime": lifetime, "expires_at": own_day, "grace_period": "168"}  # hours, beyond its own expiry
    page = admin_client.post(url, ROTATE | chosen).content.decode()

    replacement = APIKey.objects.get(replaces=record)
    assert APIKey.objects.get(pk=record.pk).expires_at == record.expires_at
    expected = datetime(2099, 12, 24, 23, 59, 59, tzinfo=UTC) if own_day else days and clock.now + days * DAY
    assert replacement.expires_at == expected
    when = f"expires on {expected:%Y-%m-%d %H:%M} UTC." if expected else "does not expire"
    assert f"This key {when}" in page
    assert f"It replaces {record}, which works until" in page


def test_a_replacement_for_a_key_that_expires_at_the_end_of_the_calendar_does_so_as_well(admin_client: Client) -> None:
    end = datetime(9999, 12, 30, 23, 59, 59, tzinfo=UTC)
    record, _ = APIKey.objects.create_key(name="Acme", created_at=PAST, expires_at=end)

    admin_client.post(page_of(record, "rotate"), ROTATE | {"lifetime": "same"})

    assert APIKey.objects.get(replaces=record).expires_at == end


@pytest.mark.parametrize(
    "fields", [{}, {"revoked_at": PAST}, {"expires_at": PAST}], ids=["working", "revoked", "expired"]
)
def test_a_key_gets_one_replacement_with_its_settings_and_works_for_the_grace_period_if_it_does_now(
    admin_client: Client, fields: dict[str, datetime]
) -> None:
    old, plain = APIKey.objects.create_key(name="Acme", access="read", requests_per_minute=60, **fields)
    url, works = page_of(old, "rotate"), not fields
    button = f'<a href="{url}">{"Rotate" if works else "Create a replacement"}</a>'
    assert button in admin_client.get(page_of(old)).content.decode()
    assert ("grace_period" in admin_client.get(url).content.decode()) == works

    response = admin_client.post(url, ROTATE)

    new = APIKey.objects.get(replaces=old)
    assert (new.name, new.environment, new.access, new.requests_per_minute) == ("Acme", "test", "read", 60)
    assert (new.expires_at, new.created_by.get_username()) == (None, "admin")
    assert [status_with(plain), status_with(shown_key(response))] == [200 if works else 401, 200]
    old.refresh_from_db()
    if works:
        assert timedelta(hours=23) < old.expires_at - timezone.now() <= timedelta(hours=24)
    else:
        assert APIKey.objects.filter(pk=old.pk, **fields).exists(), "the end of the old key has changed"
    end = "works until" if works else "does not work any more."
    assert f"It replaces {old}, which {end}" in response.content.decode()
    assert Event.objects.get(kind="key_rotated").message.startswith(f"{old} replaced by {new}. The old key {end}")
    page = admin_client.get(page_of(old)).content.decode()
    assert f'<a href="{page_of(new)}">{new}</a>' in page
    assert url not in page
    assert f'<a href="{page_of(old)}">{old}</a>' in admin_client.get(page_of(new)).content.decode()
    state = "revoked" if "revoked_at" in fields else "replaced"
    assert old in admin_client.get(LIST, {"state": state}).context["cl"].result_list
    # The page can still be open from before, or its URL can be a bookmark.
    for again in (admin_client.get(url, follow=True), admin_client.post(url, ROTATE, follow=True)):
        assert f"{old} was already replaced by {new}." in again.content.decode()
    assert APIKey.objects.count() == 2


@pytest.mark.django_db
@pytest.mark.parametrize("permission", ["add_apikey", "change_apikey"])
def test_staff_need_both_permissions_to_rotate_a_key(permission: str) -> None:
    client = granted("view_apikey", permission)
    record, _ = APIKey.objects.create_key(name="Acme")

    page = client.get(page_of(record)).content.decode()

    assert ("Revoke</a>" in page) == (permission == "change_apikey")
    assert "Rotate</a>" not in page
    assert client.post(page_of(record, "rotate"), ROTATE).status_code == 403
    assert list(APIKey.objects.all()) == [record]
