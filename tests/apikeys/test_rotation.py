"""Revoking and rotating API keys in the admin."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from petservice.apikeys.models import APIKey
from tests.apikeys.forms import LIST, ROTATE, page_of, shown_key, status_with
from tests.backoffice.pages import messages
from tests.backoffice.staff import granted

# PostgreSQL ends a transaction after an error, which SQLite does not.
pytestmark = pytest.mark.once(on="postgresql")


def test_revoking_asks_for_confirmation_and_then_stops_the_key(admin_client: Client) -> None:
    record, plain = APIKey.objects.create_key(name="Acme")
    url = page_of(record, "revoke")

    admin_client.get(url)
    assert status_with(plain) == 200

    admin_client.post(url)
    assert status_with(plain) == 401


def test_revoking_in_bulk_asks_for_confirmation_and_then_stops_the_keys(admin_client: Client) -> None:
    created = [APIKey.objects.create_key(name=f"Acme <b>{number}") for number in range(3)]
    selection = {"action": "revoke_selected", "index": 0, "_selected_action": [record.pk for record, _ in created[:2]]}

    question = admin_client.post(LIST, selection).content.decode()

    assert [status_with(plain) for _, plain in created] == [200, 200, 200]
    assert "Revoke 2 API keys?" in question
    assert [f"Acme &lt;b&gt;{number}" in question for number in range(3)] == [True, True, False]

    hidden = re.findall(r'name="(\w+)" value="([^"]*)"', question)
    confirmed = {name: [value for other, value in hidden if other == name] for name, _ in hidden}
    response = admin_client.post(LIST, confirmed, follow=True)

    assert [status_with(plain) for _, plain in created] == [401, 401, 200]
    assert messages(response) == ["Revoked 2 API keys."]


def test_revoking_only_revoked_keys_in_bulk_says_that_nothing_was_revoked(admin_client: Client) -> None:
    record, _ = APIKey.objects.create_key(name="Acme")
    record.revoke()

    chosen = {"action": "revoke_selected", "index": 0, "_selected_action": [record.pk]}
    response = admin_client.post(LIST, chosen, follow=True)

    assert messages(response) == ["None of the selected keys could be revoked: they are revoked already."]


def test_rotating_shows_a_replacement_and_the_old_key_works_for_the_grace_period(admin_client: Client) -> None:
    record, plain = APIKey.objects.create_key(name="Acme", access="read", requests_per_minute=600)

    response = admin_client.post(page_of(record, "rotate"), ROTATE)

    replacement = APIKey.objects.exclude(pk=record.pk).get()
    record.refresh_from_db()
    assert (replacement.name, replacement.environment, replacement.access) == ("Acme", "test", "read")
    assert (replacement.requests_per_minute, replacement.expires_at) == (600, None)
    assert replacement.created_by.get_username() == "admin"
    assert [status_with(plain), status_with(shown_key(response))] == [200, 200]
    assert timedelta(hours=23) < record.expires_at - timezone.now() <= timedelta(hours=24)


@pytest.mark.parametrize(("lifetime", "days"), [("same", 90), ("30", 30), ("never", None)])
def test_staff_choose_when_a_replacement_expires(admin_client: Client, lifetime: str, days: int | None) -> None:
    now = timezone.now()
    record, _ = APIKey.objects.create_key(
        name="Acme", created_at=now - timedelta(days=85), expires_at=now + timedelta(days=5)
    )
    url = page_of(record, "rotate")

    assert '<option value="same" selected>After 90 days, like the old key' in admin_client.get(url).content.decode()
    page = admin_client.post(url, ROTATE | {"lifetime": lifetime}).content.decode()

    replacement = APIKey.objects.get(replaces=record)
    assert replacement.lifetime == (timedelta(days=days) if days else None)
    when = f"expires on {replacement.expires_at:%Y-%m-%d %H:%M} UTC." if days else "does not expire"
    assert f"This key {when}" in page
    assert f"It replaces {record}, which works until" in page


def test_the_pages_of_a_replaced_key_and_its_replacement_link_to_each_other(admin_client: Client) -> None:
    old, _ = APIKey.objects.create_key(name="Acme")
    new, _ = old.rotate(grace_period=timedelta(days=1), expires_at=None)
    old_url, new_url = (page_of(record) for record in (old, new))

    assert f'<a href="{new_url}">{new}</a>' in admin_client.get(old_url).content.decode()
    assert f'<a href="{old_url}">{old}</a>' in admin_client.get(new_url).content.decode()


@pytest.mark.parametrize("grace_period", [timedelta(0), timedelta(days=1)])
def test_the_list_shows_and_finds_a_replaced_key(admin_client: Client, grace_period: timedelta) -> None:
    old, _ = APIKey.objects.create_key(name="Acme")
    old.rotate(grace_period=grace_period, expires_at=None)

    changelist = admin_client.get(LIST, {"state": "replaced"})

    assert list(changelist.context["cl"].result_list) == [old]
    assert '<span class="badge badge-replaced">Replaced</span>' in changelist.content.decode()


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ("active", None),
        ("expired", "A revoked or expired key cannot be rotated. Use “Create a replacement”"),
        ("revoked", "This API key does not exist or is already revoked."),
        ("replaced", "This key was already replaced by "),
    ],
)
def test_only_a_key_that_can_be_rotated_has_a_button_for_it(
    admin_client: Client, state: str, reason: str | None
) -> None:
    record, _ = APIKey.objects.create_key(name="Acme", expires_at=timezone.now() if state == "expired" else None)
    if state == "revoked":
        record.revoke()
    elif state == "replaced":
        record.rotate(grace_period=timedelta(days=1), expires_at=None)
    count = APIKey.objects.count()

    page = admin_client.get(page_of(record)).content.decode()

    url = page_of(record, "rotate")
    assert (url in page) == (reason is None)
    if reason:  # the page can still be open from before, or its URL can be a bookmark
        for response in (admin_client.get(url, follow=True), admin_client.post(url, ROTATE, follow=True)):
            assert reason in response.content.decode()
        assert APIKey.objects.count() == count


@pytest.mark.django_db
def test_staff_who_may_not_add_keys_cannot_rotate_one_and_get_no_button() -> None:
    client = granted("view_apikey", "change_apikey")
    record, _ = APIKey.objects.create_key(name="Acme")

    page = client.get(page_of(record)).content.decode()

    assert "Revoke</a>" in page
    assert "Rotate</a>" not in page
    assert client.post(page_of(record, "rotate"), ROTATE).status_code == 403
    assert list(APIKey.objects.all()) == [record]


@pytest.mark.parametrize("verb", ["revoke", "rotate"])
def test_revoking_or_rotating_a_missing_key_leads_back_to_the_list(admin_client: Client, verb: str) -> None:
    response = admin_client.post(reverse(f"admin:apikeys_apikey_{verb}", args=[999]))

    assert (response.status_code, response["Location"]) == (302, LIST)
