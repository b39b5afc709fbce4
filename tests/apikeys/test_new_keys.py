"""The form of a new API key: its defaults, the usual lifetimes, and replacements of keys that do not work any more."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import IntegrityError
from django.test import Client
from django.utils import timezone

from petservice.apikeys import keys
from petservice.apikeys.models import APIKey
from tests.apikeys.forms import ADD, FORM, LIST, ROTATE, page_of, shown_key, status_with
from tests.backoffice.staff import granted

# PostgreSQL ends a transaction after an error, which SQLite does not.
pytestmark = pytest.mark.once(on="postgresql")

DAY = timedelta(days=1)
PAST = datetime(2020, 1, 1, tzinfo=UTC)


def errors(response: Any) -> str:
    form = response.context["adminform"].form
    return " ".join(str(error) for messages in form.errors.values() for error in messages)


def test_a_new_key_is_read_only_and_expires_in_90_days_unless_staff_choose_otherwise(admin_client: Client) -> None:
    form = admin_client.get(ADD).context["adminform"].form

    assert (form.get_initial_for_field(form.fields["access"], "access"), form["lifetime"].initial) == ("read", "90")
    labels = dict(form.fields["lifetime"].choices)
    assert labels["90"] == f"After 90 days (on {timezone.now() + 90 * DAY:%Y-%m-%d})"
    assert list(labels) == ["30", "90", "365", "never", "own"]


@pytest.mark.parametrize(("lifetime", "days"), [("30", 30), ("90", 90), ("365", 365), ("never", None)])
def test_staff_choose_a_usual_lifetime(admin_client: Client, lifetime: str, days: int | None) -> None:
    before = timezone.now()
    response = admin_client.post(ADD, FORM | {"lifetime": lifetime})

    expires_at = APIKey.objects.get().expires_at
    assert status_with(shown_key(response)) == 200
    if days is None:
        assert expires_at is None
    else:
        assert before + days * DAY <= expires_at <= timezone.now() + days * DAY


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"lifetime": "own"}, "Choose the day on which the key expires."),
        ({"lifetime": "90", "expires_at_0": "2099-12-24"}, "You also entered a day."),
        ({"lifetime": "own", "expires_at_0": "2020-01-01"}, "This time is in the past"),
        ({"lifetime": "90", "expires_at_0": "x"}, "Enter a valid date."),
        ({"lifetime": "own", "expires_at_1": "12:00:00"}, "Enter a valid date."),
        ({"name": ""}, "This field is required."),
        ({"lifetime": "7"}, "Select a valid choice."),
        ({"lifetime": ""}, "This field is required."),
        ({"access": ""}, "This field is required."),
    ],
)
def test_an_unclear_or_impossible_choice_creates_no_key(
    admin_client: Client, fields: dict[str, str], error: str
) -> None:
    response = admin_client.post(ADD, FORM | fields)

    assert error in errors(response)
    assert not APIKey.objects.exists()


@pytest.mark.parametrize("fields", [{"revoked_at": PAST}, {"expires_at": PAST}], ids=["revoked", "expired"])
def test_a_key_that_does_not_work_offers_a_replacement_with_its_settings(
    admin_client: Client, fields: dict[str, Any]
) -> None:
    old, _ = APIKey.objects.create_key(name="Acme", access="write", requests_per_minute=60, **fields)
    old_page = page_of(old)
    url = f"{ADD}?replaces={old.pk}"

    assert f'<a href="{url}">Create a replacement</a>' in admin_client.get(old_page).content.decode()
    initial = admin_client.get(url).context["adminform"].form.initial
    assert {name: initial[name] for name in ("name", "environment", "access", "requests_per_minute")} == {
        "name": "Acme",
        "environment": "test",
        "access": "write",
        "requests_per_minute": 60,
    }
    response = admin_client.post(url, FORM | {"replaces": old.pk})

    new = APIKey.objects.get(replaces=old)
    assert status_with(shown_key(response)) == 200
    assert f"It replaces {old}, which does not work any more." in response.content.decode()
    page = admin_client.get(old_page).content.decode()
    assert f'<a href="{page_of(new)}">{new}</a>' in page
    assert "Create a replacement" not in page
    state = "revoked" if "revoked_at" in fields else "replaced"
    assert old in admin_client.get(LIST, {"state": state}).context["cl"].result_list


@pytest.mark.parametrize("state", ["active", "replaced"])
def test_only_a_key_without_a_replacement_that_does_not_work_gets_one(admin_client: Client, state: str) -> None:
    old, _ = APIKey.objects.create_key(name="Acme", revoked_at=PAST if state == "replaced" else None)
    if state == "replaced":
        old.replaced_by = APIKey.objects.create_key(name="Acme 2")[0]
        old.save()
    count = APIKey.objects.count()

    page = admin_client.get(page_of(old)).content.decode()
    assert "Create a replacement" not in page
    assert "name" not in admin_client.get(f"{ADD}?replaces={old.pk}").context["adminform"].form.initial
    response = admin_client.post(ADD, FORM | {"replaces": old.pk})

    expected = "was already replaced by Acme 2" if state == "replaced" else "still works. Rotate it instead."
    assert expected in errors(response)
    assert expected in response.content.decode()
    assert APIKey.objects.count() == count


@pytest.mark.parametrize("pk", ["999", "x", "%00", "9" * 30])
def test_a_replacement_of_an_unknown_key_is_an_ordinary_new_key(admin_client: Client, pk: str) -> None:
    response = admin_client.get(f"{ADD}?replaces={pk}")

    assert response.status_code == 200
    assert response.context["adminform"].form.initial.keys() == {"environment", "access"}


@pytest.mark.django_db
def test_staff_who_may_not_change_keys_cannot_replace_one_and_learn_nothing() -> None:
    client = granted("add_apikey")
    old, _ = APIKey.objects.create_key(name="Secret project", revoked_at=PAST)
    usable, _ = APIKey.objects.create_key(name="Secret plan")

    pages = [client.get(f"{ADD}?replaces={old.pk}"), client.post(ADD, FORM | {"replaces": usable.pk, "name": ""})]
    assert not any("Secret" in response.content.decode() for response in pages)
    client.post(ADD, FORM | {"replaces": old.pk})

    assert APIKey.objects.filter(name="Acme", replaces=None).count() == 1


def test_a_replacement_of_a_missing_key_is_not_created(admin_client: Client) -> None:
    response = admin_client.post(ADD, FORM | {"replaces": 999})

    assert "The key that the new key is to replace does not exist. No key was created." in response.content.decode()
    assert not APIKey.objects.exists()


def test_a_replacement_by_rotation_expires_on_a_day_of_choice(admin_client: Client) -> None:
    old, _ = APIKey.objects.create_key(name="Acme")
    url = page_of(old, "rotate")
    for fields, error in (
        ({}, "Choose the day on which the key expires."),
        ({"expires_at_0": "2020-01-01"}, "This time is in the past."),
        ({"lifetime": "never", "expires_at_0": "2099-12-24"}, "You also entered a day."),
    ):
        response = admin_client.post(url, ROTATE | {"lifetime": "own"} | fields)
        assert error in response.content.decode()
    assert APIKey.objects.count() == 1

    admin_client.post(url, ROTATE | {"lifetime": "own", "expires_at_0": "2099-12-24"})

    assert APIKey.objects.get(replaces=old).expires_at == datetime(2099, 12, 24, 23, 59, 59, tzinfo=UTC)


def test_a_rotation_keeps_a_key_without_an_expiry_unless_staff_choose_otherwise(admin_client: Client) -> None:
    old, _ = APIKey.objects.create_key(name="Acme")

    response = admin_client.get(page_of(old, "rotate"))

    assert response.context["form"]["lifetime"].initial == "never"
    assert "None" not in response.content.decode()


def test_a_key_that_exists_already_is_not_created(admin_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """A form that was sent twice gives the same error of the database."""
    plain = APIKey.objects.create_key(name="Zoo")[1]
    monkeypatch.setattr(keys, "generate", lambda environment: plain)

    with pytest.raises(IntegrityError):
        admin_client.post(ADD, FORM)

    assert [*APIKey.objects.values_list("name", flat=True)] == ["Zoo"]
