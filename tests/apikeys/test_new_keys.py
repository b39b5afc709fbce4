"""The form of a new API key: its defaults, and the usual lifetimes."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError
from django.test import Client
from django.utils import timezone

from petservice.apikeys import keys
from petservice.apikeys.models import APIKey
from tests.apikeys.forms import ADD, FORM, shown_key, status_with

# PostgreSQL ends a transaction after an error, which SQLite does not.
pytestmark = pytest.mark.once(on="postgresql")

DAY = timedelta(days=1)


def errors(response: Any) -> str:
    form = response.context["adminform"].form
    return " ".join(str(error) for messages in form.errors.values() for error in messages)


def test_a_new_key_is_read_only_and_expires_in_90_days_unless_staff_choose_otherwise(admin_client: Client) -> None:
    form = admin_client.get(ADD).context["adminform"].form

    assert (form.get_initial_for_field(form.fields["access"], "access"), form["lifetime"].initial) == ("read", "90")
    assert form.initial.keys() == {"access"}
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


def test_a_key_that_exists_already_is_not_created(admin_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """A form that was sent twice gives the same error of the database."""
    plain = APIKey.objects.create_key(name="Zoo")[1]
    monkeypatch.setattr(keys, "generate", lambda environment: plain)

    with pytest.raises(IntegrityError):
        admin_client.post(ADD, FORM)

    assert [*APIKey.objects.values_list("name", flat=True)] == ["Zoo"]


def test_the_form_has_one_button_because_each_would_lead_to_the_page_that_shows_the_key(admin_client: Client) -> None:
    page = admin_client.get(ADD).content.decode()

    assert 'name="_save"' in page
    assert not re.search("_addanother|_continue", page)
