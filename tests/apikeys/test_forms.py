"""The forms of API keys: their defaults, the expiry and the request limit, as staff set them, and replacements."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

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


# Revocations and replacements.


def test_no_key_is_revoked_if_the_audit_cannot_be_written(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object, **event: object) -> None:
        raise DatabaseError("the disk is full")

    record, plain = APIKey.objects.create_key(name="Acme")
    monkeypatch.setattr(admin, "add_event", fail)

    with pytest.raises(DatabaseError):
        admin_client.post(page_of(record, "revoke"))

    assert status_with(plain) == 200


def test_rotating_shows_a_replacement_and_the_old_key_works_for_the_grace_period(admin_client: Client) -> None:
    record, plain = APIKey.objects.create_key(name="Acme", access="read", requests_per_minute=600)
    url = page_of(record, "rotate")
    assert admin_client.get(url).context["form"]["lifetime"].initial == "never"

    response = admin_client.post(url, ROTATE)

    replacement = APIKey.objects.exclude(pk=record.pk).get()
    record.refresh_from_db()
    assert (replacement.name, replacement.environment, replacement.access) == ("Acme", "test", "read")
    assert (replacement.requests_per_minute, replacement.expires_at) == (600, None)
    assert replacement.created_by.get_username() == "admin"
    assert [status_with(plain), status_with(shown_key(response))] == [200, 200]
    assert timedelta(hours=23) < record.expires_at - timezone.now() <= timedelta(hours=24)


@pytest.mark.parametrize(
    ("lifetime", "own_day", "days"),
    [("same", "", 90), ("30", "", 30), ("never", "", None), ("never", "2099-12-24", None)],
)
def test_staff_choose_when_a_replacement_expires(
    admin_client: Client, lifetime: str, own_day: str, days: int | None
) -> None:
    now = timezone.now()
    record, _ = APIKey.objects.create_key(
        name="Acme", created_at=now - timedelta(days=85), expires_at=now + timedelta(days=5)
    )
    url = page_of(record, "rotate")

    assert '<option value="same" selected>As long as the old key (until ' in admin_client.get(url).content.decode()
    past = admin_client.post(url, ROTATE | {"expires_at": "2020-01-01"}).content.decode()
    assert "This day is in the past, so the key would not work." in past
    chosen = {"lifetime": lifetime, "expires_at": own_day, "grace_period": "168"}  # hours, beyond its own expiry
    page = admin_client.post(url, ROTATE | chosen).content.decode()

    replacement = APIKey.objects.get(replaces=record)
    assert APIKey.objects.get(pk=record.pk).expires_at == record.expires_at
    if own_day:
        assert replacement.expires_at == datetime(2099, 12, 24, 23, 59, 59, tzinfo=UTC)
    else:
        assert replacement.lifetime == (timedelta(days=days) if days else None)
    when = f"expires on {replacement.expires_at:%Y-%m-%d %H:%M} UTC." if days or own_day else "does not expire"
    assert f"This key {when}" in page
    assert f"It replaces {record}, which works until" in page


def test_a_replacement_for_a_key_that_expires_at_the_end_of_the_calendar_does_so_as_well(admin_client: Client) -> None:
    end = datetime(9999, 12, 30, 23, 59, 59, tzinfo=UTC)
    record, _ = APIKey.objects.create_key(name="Acme", created_at=PAST, expires_at=end)

    assert (
        "As long as the old key (until 9999-12-30 23:59 UTC)"
        in admin_client.get(page_of(record, "rotate")).content.decode()
    )
    admin_client.post(page_of(record, "rotate"), ROTATE | {"lifetime": "same"})
    assert APIKey.objects.get(replaces=record).expires_at == end


@pytest.mark.parametrize("fields", [{"revoked_at": PAST}, {"expires_at": PAST}], ids=["revoked", "expired"])
def test_a_key_that_does_not_work_gets_a_replacement_with_its_settings(
    admin_client: Client, fields: dict[str, datetime]
) -> None:
    old, plain = APIKey.objects.create_key(name="Acme", access="read", requests_per_minute=60, **fields)
    url = page_of(old, "rotate")
    assert f'<a href="{url}">Create a replacement</a>' in admin_client.get(page_of(old)).content.decode()
    assert "grace_period" not in admin_client.get(url).content.decode()

    response = admin_client.post(url, ROTATE)

    new = APIKey.objects.get(replaces=old)
    assert (new.name, new.environment, new.access, new.requests_per_minute) == ("Acme", "test", "read", 60)
    assert [status_with(plain), status_with(shown_key(response))] == [401, 200]
    assert APIKey.objects.filter(pk=old.pk, **fields).exists(), "the end of the old key has changed"
    assert f"It replaces {old}, which does not work any more." in response.content.decode()
    message = Event.objects.get(kind="key_rotated").message
    assert message.startswith(f"Replaced by {new}. The old key does not work any more. New key: ")
    page = admin_client.get(page_of(old)).content.decode()
    assert f'<a href="{page_of(new)}">{new}</a>' in page
    assert "Create a replacement" not in page
    assert f'<a href="{page_of(old)}">{old}</a>' in admin_client.get(page_of(new)).content.decode()
    state = "revoked" if "revoked_at" in fields else "replaced"
    assert old in admin_client.get(LIST, {"state": state}).context["cl"].result_list


def test_a_replaced_key_has_no_button_and_gets_no_other_replacement(admin_client: Client) -> None:
    record, _ = APIKey.objects.create_key(name="Acme")
    record.rotate(grace_period=timedelta(days=1), expires_at=None)
    url = page_of(record, "rotate")

    assert url not in admin_client.get(page_of(record)).content.decode()
    # The page can still be open from before, or its URL can be a bookmark.
    for response in (admin_client.get(url, follow=True), admin_client.post(url, ROTATE, follow=True)):
        assert "This key was already replaced by " in response.content.decode()
    assert APIKey.objects.count() == 2
    assert not Event.objects.filter(kind="key_rotated").exists()


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
