"""The entries about API keys in the audit."""

from datetime import timedelta

import pytest
from django.core.management import call_command
from django.test import Client

from petservice.apikeys.models import APIKey
from petservice.journal.models import Event
from tests.apikeys.forms import ADD, FORM, LIST, ROTATE, page_of
from tests.backoffice.pages import text_of

pytestmark = pytest.mark.once

Kind = Event.Kind


def entries() -> list[tuple[str, str, str, int]]:
    """Return kind, account, name of the record and number of each entry about keys, oldest first, and forget them."""
    found = Event.objects.filter(kind__startswith="key_").order_by("pk")
    rows = [*Event.with_record(found).values_list("kind", "account_name", "record_name", "count")]
    found.delete()
    return rows


def message() -> str:
    return str(Event.objects.filter(kind__startswith="key_").latest("pk").message)


def test_events_of_a_key_are_recorded_with_old_and_new_values(admin_client: Client) -> None:
    admin_client.post(ADD, FORM | {"access": "read"})
    key = APIKey.objects.get()
    assert message() == "Read only, no limit, does not expire."
    assert entries() == [(Kind.KEY_CREATED, "admin", str(key), 1)]

    admin_client.post(page_of(key), FORM | {"name": "Acme Ltd"})
    assert message() == "Name changed from “Acme” to “Acme Ltd”."
    assert message() in text_of(admin_client.get(page_of(key, "history")))
    key.refresh_from_db()
    assert entries() == [(Kind.KEY_CHANGED, "admin", str(key), 1)]
    admin_client.post(page_of(key), FORM | {"name": "Acme Ltd"})
    assert entries() == [], "nothing was changed"

    admin_client.post(page_of(key, "rotate"), ROTATE)
    replacement = APIKey.objects.get(replaces=key)
    assert message().startswith(f"Replaced by {replacement}. The old key works until ")
    assert entries() == [(Kind.KEY_ROTATED, "admin", str(key), 1)]

    admin_client.post(page_of(key, "revoke"))
    assert entries() == [(Kind.KEY_REVOKED, "admin", str(key), 1)]
    admin_client.post(page_of(key, "revoke"))
    assert entries() == [], "it was revoked already"


def test_a_key_that_another_page_revokes_at_the_same_time_is_recorded_once(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, _ = APIKey.objects.create_key(name="Acme")
    admin_client.post(page_of(key, "revoke"))
    monkeypatch.setattr(APIKey, "is_revoked", False)  # as it was read before

    response = admin_client.post(page_of(key, "revoke"), follow=True)

    assert entries() == [(Kind.KEY_REVOKED, "admin", str(key), 1)]
    assert "No API key was revoked: the selected ones are revoked already" in response.content.decode()


def test_a_replacement_of_a_key_that_does_not_work_is_recorded(admin_client: Client) -> None:
    old, _ = APIKey.objects.create_key(name="Old")
    old.revoke()

    admin_client.post(page_of(old, "rotate"), ROTATE)

    new = APIKey.objects.get(replaces=old)
    assert message().startswith(f"Replaced by {new}. The old key does not work any more. New key: ")
    assert entries() == [(Kind.KEY_ROTATED, "admin", str(old), 1)]


def test_revoking_in_bulk_is_one_entry(admin_client: Client) -> None:
    keys = [APIKey.objects.create_key(name=f"Acme {number}")[0] for number in range(3)]
    keys[2].revoke()

    chosen = {"action": "revoke_selected", "index": 0, "confirmed": "yes", "_selected_action": [key.pk for key in keys]}
    admin_client.post(LIST, chosen)

    assert message() == f"{keys[0]}, {keys[1]}."
    assert entries() == [(Kind.KEY_REVOKED, "admin", None, 2)]


@pytest.mark.django_db
def test_commands_are_recorded_as_such() -> None:
    call_command("create_api_key", "Acme", "--read-only", "--expires-in", "90d")
    key = APIKey.objects.get()
    assert message().startswith("Created by the command create_api_key. Read only, no limit, expires on ")
    assert entries() == [(Kind.KEY_CREATED, "command", str(key), 1)]

    for _ in range(2):
        call_command("revoke_api_key", key.prefix)
    assert message().startswith("Revoked by the command revoke_api_key. Run by the operating system user ")
    assert entries() == [(Kind.KEY_REVOKED, "command", str(key), 1)]


def test_a_rejected_form_is_not_recorded(admin_client: Client) -> None:
    key, _ = APIKey.objects.create_key(name="Acme")
    key.rotate(grace_period=timedelta(days=1), expires_at=None)

    admin_client.post(page_of(key, "rotate"), ROTATE)
    admin_client.post(ADD, FORM | {"name": ""})

    assert entries() == []
