import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from petservice.apikeys.admin import APIKeyAdmin
from petservice.apikeys.models import IDLE_AFTER, APIKey
from tests.apikeys.forms import FORM

LIST = reverse("admin:apikeys_apikey_changelist")
ADD = reverse("admin:apikeys_apikey_add")
ROTATE = {"grace_period": "24", "lifetime": "", "form_token": "0f1c0a5e-9b3d-4f7c-8a2e-1d0b9c8f7a6e"}


def shown_key(response: object) -> str:
    (plain,) = set(re.findall(r"pets_(?:test|live)_[0-9A-Za-z]{49}", response.content.decode()))  # type: ignore[attr-defined]
    return plain


def status_with(plain: str) -> int:
    return Client(headers={"X-API-Key": plain}).get("/v1/pets").status_code


def test_the_response_shows_a_created_key_and_the_key_works(admin_client: Client) -> None:
    response = admin_client.post(ADD, FORM)

    assert response.status_code == 200
    assert "no-store" in response["Cache-Control"]
    assert status_with(shown_key(response)) == 200
    assert APIKey.objects.get().created_by.get_username() == "admin"


def test_no_later_page_shows_the_key(admin_client: Client) -> None:
    plain = shown_key(admin_client.post(ADD, FORM))
    record = APIKey.objects.get()

    for url in [
        LIST,
        ADD,
        *(reverse(f"admin:apikeys_apikey_{page}", args=[record.pk]) for page in ("change", "history")),
    ]:
        assert plain not in admin_client.get(url).content.decode()


def test_sending_a_form_again_creates_no_second_key_and_shows_no_key(admin_client: Client) -> None:
    plain = shown_key(admin_client.post(ADD, FORM))

    response = admin_client.post(ADD, FORM, follow=True)

    assert APIKey.objects.count() == 1
    assert plain not in response.content.decode()
    assert "shown only once" in response.content.decode()
    assert response.request["PATH_INFO"] == reverse("admin:apikeys_apikey_change", args=[APIKey.objects.get().pk])


@pytest.mark.django_db(transaction=True)
def test_sending_a_form_twice_at_the_same_time_creates_one_key(
    admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second request has already found no key of this form when the first one creates it."""
    admin_client.post(ADD, FORM)
    lookup, first_results = APIKeyAdmin._created_by_form, [None]
    monkeypatch.setattr(
        APIKeyAdmin, "_created_by_form", lambda *args: first_results.pop() if first_results else lookup(*args)
    )

    response = admin_client.post(ADD, FORM)

    assert response.status_code == 302
    assert APIKey.objects.count() == 1


def test_sending_a_rotation_again_creates_no_second_replacement(admin_client: Client) -> None:
    record, _ = APIKey.objects.create_key(name="Acme")
    url = reverse("admin:apikeys_apikey_rotate", args=[record.pk])
    plain = shown_key(admin_client.post(url, ROTATE | {"grace_period": "0"}))

    response = admin_client.post(url, ROTATE | {"grace_period": "0"}, follow=True)

    assert APIKey.objects.count() == 2
    assert plain not in response.content.decode()
    assert "shown only once" in response.content.decode()


def test_staff_without_the_permission_do_not_see_the_key_that_a_form_created(
    admin_client: Client, client: Client, django_user_model: Any
) -> None:
    admin_client.post(ADD, FORM)
    client.force_login(django_user_model.objects.create_user("bare", is_staff=True))

    response = client.post(ADD, FORM)

    assert response.status_code == 403
    assert "Acme" not in response.content.decode() + str(response.cookies)


@pytest.mark.parametrize("form_token", ["", "x"])
def test_a_form_without_its_token_creates_no_key(admin_client: Client, form_token: str) -> None:
    assert admin_client.post(ADD, FORM | {"form_token": form_token}).status_code == 200

    assert not APIKey.objects.exists()


def test_each_form_has_its_own_token(admin_client: Client) -> None:
    pages = [admin_client.get(ADD).content.decode() for _ in range(2)]

    first, second = (re.findall(r'name="form_token" value="([0-9a-f-]{36})"', page) for page in pages)
    assert len(first) == len(second) == 1
    assert first != second


@pytest.mark.parametrize(
    ("fields", "state"),
    [
        ({}, "active"),
        ({"expires_at": timedelta(days=15)}, "active"),
        ({"expires_at": timedelta(days=13)}, "expires soon"),
        ({"expires_at": timedelta(0)}, "expired"),
        ({"environment": "live"}, "other environment"),
        ({"environment": "live", "expires_at": timedelta(days=13)}, "other environment"),
        ({"environment": "live", "expires_at": timedelta(0)}, "expired"),
        ({"revoked_at": timedelta(0)}, "revoked"),
        ({"revoked_at": timedelta(0), "expires_at": timedelta(0)}, "revoked"),
    ],
)
def test_the_list_shows_the_state_and_is_filtered_by_it(
    admin_client: Client, fields: dict[str, Any], state: str
) -> None:
    now = timezone.now()
    APIKey.objects.create_key(
        name="Acme", **{name: now + value if isinstance(value, timedelta) else value for name, value in fields.items()}
    )

    shown = {
        label: f'<td class="field-state">{label}</td>' in admin_client.get(LIST, {"state": value}).content.decode()
        for value, label in APIKey.State.choices
    }

    assert {label.lower() for label, is_shown in shown.items() if is_shown} == {state}


def test_the_list_is_filtered_by_use(admin_client: Client) -> None:
    for name, last_used_at in {"Now": timezone.now(), "Once": timezone.now() - 2 * IDLE_AFTER, "Never": None}.items():
        created_at = timezone.now() - 3 * IDLE_AFTER
        APIKey.objects.create_key(name=name, last_used_at=last_used_at, created_at=created_at)

    def names(use: str) -> set[str]:
        return {api_key.name for api_key in admin_client.get(LIST, {"use": use}).context["cl"].result_list}

    assert names("never") == {"Never"}
    assert names("idle") == {"Once"}
    assert names("nonsense") == {"Now", "Once", "Never"}


def test_the_list_rejects_conditions_that_no_filter_offers(admin_client: Client) -> None:
    assert admin_client.get(LIST, {"digest__startswith": "0"}).status_code == 400
    assert admin_client.get(LIST, {"environment__exact": "test"}).status_code == 200


def test_a_key_without_a_name_is_rejected(admin_client: Client) -> None:
    admin_client.post(ADD, FORM | {"name": ""})

    assert not APIKey.objects.exists()


def test_the_page_of_a_new_key_warns_if_the_service_rejects_its_environment(admin_client: Client) -> None:
    response = admin_client.post(ADD, FORM | {"environment": "live"})

    assert status_with(shown_key(response)) == 403
    assert "This test service rejects live keys." in response.content.decode()
    assert "curl" not in response.content.decode()


def test_the_page_of_a_new_key_of_this_environment_has_an_example_and_no_warning(admin_client: Client) -> None:
    response = admin_client.post(ADD, FORM)

    assert "rejects" not in response.content.decode()
    assert "curl" in response.content.decode()


def test_revoking_asks_for_confirmation_and_then_stops_the_key(admin_client: Client) -> None:
    record, plain = APIKey.objects.create_key(name="Acme")
    url = reverse("admin:apikeys_apikey_revoke", args=[record.pk])

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
    assert ["Acme &lt;b&gt;0" in question, "Acme &lt;b&gt;1" in question, "Acme &lt;b&gt;2" in question] == [
        True,
        True,
        False,
    ]

    hidden = re.findall(r'name="(\w+)" value="([^"]*)"', question)
    confirmed = {name: [value for other, value in hidden if other == name] for name, _ in hidden}
    response = admin_client.post(LIST, confirmed, follow=True)

    assert [status_with(plain) for _, plain in created] == [401, 401, 200]
    assert [str(message) for message in response.context["messages"]] == ["Revoked 2 API keys."]


def test_revoking_only_revoked_keys_in_bulk_says_that_nothing_was_revoked(admin_client: Client) -> None:
    record, _ = APIKey.objects.create_key(name="Acme")
    record.revoke()

    chosen = {"action": "revoke_selected", "index": 0, "_selected_action": [record.pk]}
    response = admin_client.post(LIST, chosen, follow=True)

    assert [str(message) for message in response.context["messages"]] == [
        "None of the selected keys could be revoked: they are revoked already."
    ]


@pytest.mark.parametrize("verb", ["revoke", "rotate"])
def test_a_confirmation_page_shows_no_empty_form(admin_client: Client, verb: str) -> None:
    record, _ = APIKey.objects.create_key(name="Acme")

    page = admin_client.get(reverse(f"admin:apikeys_apikey_{verb}", args=[record.pk])).content.decode()

    assert "None" not in page


def test_a_revoked_key_cannot_be_changed(admin_client: Client) -> None:
    record, _ = APIKey.objects.create_key(name="Acme")
    record.revoke()

    response = admin_client.post(
        reverse("admin:apikeys_apikey_change", args=[record.pk]),
        {"name": "Other", "expires_at_0": "", "expires_at_1": ""},
    )

    assert response.status_code == 403
    record.refresh_from_db()
    assert record.name == "Acme"


def test_the_history_of_a_key_shows_the_old_and_the_new_values(admin_client: Client) -> None:
    record, _ = APIKey.objects.create_key(name="Acme", requests_per_minute=600)
    form = FORM | {"name": "Acme, shop", "expires_at_0": "2099-12-24", "expires_at_1": "12:00:00"}

    admin_client.post(reverse("admin:apikeys_apikey_change", args=[record.pk]), form | {"requests_per_minute": ""})

    page = admin_client.get(reverse("admin:apikeys_apikey_history", args=[record.pk])).content.decode()
    assert "Name changed from “Acme” to “Acme, shop”." in page
    assert "Expires at changed from nothing to 2099-12-24 12:00:00 UTC." in page
    assert "Requests per minute changed from 600 to nothing." in page


def test_the_history_of_a_key_says_if_a_form_changed_nothing(admin_client: Client) -> None:
    record, _ = APIKey.objects.create_key(name="Acme")

    admin_client.post(reverse("admin:apikeys_apikey_change", args=[record.pk]), FORM)

    page = admin_client.get(reverse("admin:apikeys_apikey_history", args=[record.pk])).content.decode()
    assert "No fields changed." in page


def test_no_key_can_be_deleted(admin_client: Client) -> None:
    record, _ = APIKey.objects.create_key(name="Acme")

    assert (
        admin_client.post(reverse("admin:apikeys_apikey_delete", args=[record.pk]), {"post": "yes"}).status_code == 403
    )


def test_rotating_shows_a_replacement_and_the_old_key_works_for_the_grace_period(admin_client: Client) -> None:
    record, plain = APIKey.objects.create_key(name="Acme", access="read")

    response = admin_client.post(reverse("admin:apikeys_apikey_rotate", args=[record.pk]), ROTATE)

    replacement = APIKey.objects.exclude(pk=record.pk).get()
    record.refresh_from_db()
    assert (replacement.name, replacement.access, replacement.expires_at) == ("Acme", "read", None)
    assert [status_with(plain), status_with(shown_key(response))] == [200, 200]
    assert timedelta(hours=23) < record.expires_at - timezone.now() <= timedelta(hours=24)


@pytest.mark.parametrize(("lifetime", "days"), [("same", 90), ("30", 30), ("", None)])
def test_staff_choose_when_a_replacement_expires(admin_client: Client, lifetime: str, days: int | None) -> None:
    now = timezone.now()
    record, _ = APIKey.objects.create_key(
        name="Acme", created_at=now - timedelta(days=85), expires_at=now + timedelta(days=5)
    )
    url = reverse("admin:apikeys_apikey_rotate", args=[record.pk])

    assert '<option value="same" selected>After 90 days, like the old key' in admin_client.get(url).content.decode()
    page = admin_client.post(url, ROTATE | {"lifetime": lifetime}).content.decode()

    replacement = APIKey.objects.get(replaces=record)
    assert replacement.lifetime == (timedelta(days=days) if days else None)
    when = f"expires on {replacement.expires_at:%Y-%m-%d} at" if days else "does not expire"
    assert f"This key {when}" in page
    assert f"It replaces {record}, which works until" in page


def test_the_pages_of_a_replaced_key_and_its_replacement_link_to_each_other(admin_client: Client) -> None:
    old, _ = APIKey.objects.create_key(name="Acme")
    new, _ = old.rotate(grace_period=timedelta(days=1), lifetime=None)
    old_url, new_url = (reverse("admin:apikeys_apikey_change", args=[record.pk]) for record in (old, new))

    assert f'<a href="{new_url}">{new}</a>' in admin_client.get(old_url).content.decode()
    assert f'<a href="{old_url}">{old}</a>' in admin_client.get(new_url).content.decode()


@pytest.mark.parametrize("grace_period", [timedelta(0), timedelta(days=1)])
def test_the_list_shows_and_finds_a_replaced_key(admin_client: Client, grace_period: timedelta) -> None:
    old, _ = APIKey.objects.create_key(name="Acme")
    old.rotate(grace_period=grace_period, lifetime=None)

    changelist = admin_client.get(LIST, {"state": "replaced"})

    assert list(changelist.context["cl"].result_list) == [old]
    assert '<td class="field-state">Replaced</td>' in changelist.content.decode()


def test_the_page_of_a_key_names_its_creator_without_a_link(admin_client: Client) -> None:
    admin_client.post(ADD, FORM)
    record = APIKey.objects.get()

    page = admin_client.get(reverse("admin:apikeys_apikey_change", args=[record.pk])).content.decode()

    assert '<div class="readonly">admin</div>' in page
    assert reverse("admin:auth_user_change", args=[record.created_by.pk]) not in page


@pytest.mark.parametrize("state", ["active", "expired", "revoked", "replaced"])
def test_only_a_key_that_can_be_rotated_has_a_button_for_it(admin_client: Client, state: str) -> None:
    record, _ = APIKey.objects.create_key(name="Acme", expires_at=timezone.now() if state == "expired" else None)
    if state == "revoked":
        record.revoke()
    elif state == "replaced":
        record.rotate(grace_period=timedelta(days=1), lifetime=None)

    page = admin_client.get(reverse("admin:apikeys_apikey_change", args=[record.pk])).content.decode()

    assert (reverse("admin:apikeys_apikey_rotate", args=[record.pk]) in page) == (state == "active")


@pytest.mark.django_db
def test_staff_who_may_not_add_keys_get_no_button_for_rotating() -> None:
    user = get_user_model().objects.create_user("clerk", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=["view_apikey", "change_apikey"]))
    client = Client()
    client.force_login(user)
    record, _ = APIKey.objects.create_key(name="Acme")

    page = client.get(reverse("admin:apikeys_apikey_change", args=[record.pk])).content.decode()

    assert "Revoke</a>" in page
    assert "Rotate</a>" not in page


def test_an_expired_key_is_not_rotated_and_the_page_says_why(admin_client: Client) -> None:
    record, _ = APIKey.objects.create_key(name="Acme", expires_at=timezone.now())

    response = admin_client.post(reverse("admin:apikeys_apikey_rotate", args=[record.pk]), ROTATE)

    assert "Create a new key instead" in response.content.decode()
    assert APIKey.objects.count() == 1


@pytest.mark.parametrize("verb", ["revoke", "rotate"])
def test_revoking_or_rotating_a_missing_key_leads_back_to_the_list(admin_client: Client, verb: str) -> None:
    response = admin_client.post(reverse(f"admin:apikeys_apikey_{verb}", args=[999]))

    assert (response.status_code, response["Location"]) == (302, LIST)


def test_searching_for_a_complete_key_finds_its_record(admin_client: Client) -> None:
    record, plain = APIKey.objects.create_key(name="Acme")
    APIKey.objects.create_key(name="Other")

    found = admin_client.get(LIST, {"q": plain}).context["cl"].result_list

    assert list(found) == [record]


@pytest.mark.parametrize("page", ["change", "history"])
def test_the_page_of_a_key_that_does_not_exist_says_so(admin_client: Client, page: str) -> None:
    response = admin_client.get(reverse(f"admin:apikeys_apikey_{page}", args=[999]), follow=True)

    assert ["Perhaps it was deleted?" in str(message) for message in response.context["messages"]] == [True]
