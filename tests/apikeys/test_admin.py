import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from petservice.apikeys.admin import APIKeyAdmin
from petservice.apikeys.models import IDLE_AFTER, APIKey
from tests.apikeys.forms import FORM

LIST = reverse("admin:apikeys_apikey_changelist")
ADD = reverse("admin:apikeys_apikey_add")
ROTATE = {"overlap": "24", "submission": "0f1c0a5e-9b3d-4f7c-8a2e-1d0b9c8f7a6e"}


def shown_key(response: object) -> str:
    (plain,) = set(re.findall(r"pets_test_[0-9A-Za-z]{49}", response.content.decode()))  # type: ignore[attr-defined]
    return plain


def status_with(plain: str) -> int:
    return Client(headers={"X-API-Key": plain}).get("/v1/pets").status_code


def test_a_created_key_is_shown_in_the_answer_and_works(admin_client: Client) -> None:
    response = admin_client.post(ADD, FORM)

    assert response.status_code == 200
    assert "no-store" in response["Cache-Control"]
    assert status_with(shown_key(response)) == 200
    assert APIKey.objects.get().created_by.get_username() == "admin"


def test_no_later_page_shows_the_key(admin_client: Client) -> None:
    plain = shown_key(admin_client.post(ADD, FORM))
    record = APIKey.objects.get()

    for address in [
        LIST,
        ADD,
        *(reverse(f"admin:apikeys_apikey_{page}", args=[record.pk]) for page in ("change", "history")),
    ]:
        assert plain not in admin_client.get(address).content.decode()


def test_a_form_that_is_sent_again_makes_no_second_key_and_shows_none(admin_client: Client) -> None:
    plain = shown_key(admin_client.post(ADD, FORM))

    response = admin_client.post(ADD, FORM, follow=True)

    assert APIKey.objects.count() == 1
    assert plain not in response.content.decode()
    assert "shown only once" in response.content.decode()
    assert response.request["PATH_INFO"] == reverse("admin:apikeys_apikey_change", args=[APIKey.objects.get().pk])


@pytest.mark.django_db(transaction=True)
def test_a_form_that_is_sent_twice_at_once_makes_one_key(admin_client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second is past the look for an earlier one when the first has made its key."""
    admin_client.post(ADD, FORM)
    look, answers = APIKeyAdmin._made_with, [None]
    monkeypatch.setattr(APIKeyAdmin, "_made_with", lambda *args: answers.pop() if answers else look(*args))

    response = admin_client.post(ADD, FORM)

    assert response.status_code == 302
    assert APIKey.objects.count() == 1


def test_a_rotation_that_is_sent_again_makes_no_second_successor(admin_client: Client) -> None:
    record, _ = APIKey.objects.create_key(name="Acme")
    address = reverse("admin:apikeys_apikey_rotate", args=[record.pk])
    plain = shown_key(admin_client.post(address, ROTATE | {"overlap": "0"}))

    response = admin_client.post(address, ROTATE | {"overlap": "0"}, follow=True)

    assert APIKey.objects.count() == 2
    assert plain not in response.content.decode()
    assert "shown only once" in response.content.decode()


def test_staff_who_may_not_make_keys_are_not_told_what_a_form_has_made(
    admin_client: Client, client: Client, django_user_model: Any
) -> None:
    admin_client.post(ADD, FORM)
    client.force_login(django_user_model.objects.create_user("bare", is_staff=True))

    response = client.post(ADD, FORM)

    assert response.status_code == 403
    assert "Acme" not in response.content.decode() + str(response.cookies)


@pytest.mark.parametrize("submission", ["", "x"])
def test_a_form_without_its_hidden_field_makes_no_key(admin_client: Client, submission: str) -> None:
    assert admin_client.post(ADD, FORM | {"submission": submission}).status_code == 200

    assert not APIKey.objects.exists()


def test_each_form_has_a_submission_of_its_own(admin_client: Client) -> None:
    pages = [admin_client.get(ADD).content.decode() for _ in range(2)]

    first, second = (re.findall(r'name="submission" value="([0-9a-f-]{36})"', page) for page in pages)
    assert len(first) == len(second) == 1
    assert first != second


@pytest.mark.parametrize(
    ("fields", "state"),
    [
        ({}, "active"),
        ({"expires_at": timedelta(days=15)}, "active"),
        ({"expires_at": timedelta(days=13)}, "expires soon"),
        ({"expires_at": timedelta(0)}, "expired"),
        ({"revoked_at": timedelta(0)}, "revoked"),
        ({"revoked_at": timedelta(0), "expires_at": timedelta(0)}, "revoked"),
    ],
)
def test_the_list_tells_the_state_and_is_filtered_by_it(
    admin_client: Client, fields: dict[str, timedelta], state: str
) -> None:
    now = timezone.now()
    APIKey.objects.create_key(name="Acme", **{name: now + time for name, time in fields.items()})

    shown = {
        label: f'<td class="field-state">{label}</td>' in admin_client.get(LIST, {"state": value}).content.decode()
        for value, label in APIKey.State.choices
    }

    assert {label.lower() for label, is_shown in shown.items() if is_shown} == {state}


def test_the_list_is_filtered_by_use(admin_client: Client) -> None:
    for name, last_used_at in {"Now": timezone.now(), "Once": timezone.now() - 2 * IDLE_AFTER, "Never": None}.items():
        APIKey.objects.create_key(name=name, last_used_at=last_used_at)

    def names(use: str) -> set[str]:
        return {api_key.name for api_key in admin_client.get(LIST, {"use": use}).context["cl"].result_list}

    assert names("never") == {"Never"}
    assert names("idle") == {"Once"}
    assert names("nonsense") == {"Now", "Once", "Never"}


def test_conditions_that_no_filter_offers_are_refused(admin_client: Client) -> None:
    assert admin_client.get(LIST, {"digest__startswith": "0"}).status_code == 400
    assert admin_client.get(LIST, {"environment__exact": "test"}).status_code == 200


def test_a_key_without_a_name_is_refused(admin_client: Client) -> None:
    admin_client.post(ADD, FORM | {"name": ""})

    assert not APIKey.objects.exists()


def test_revoking_asks_first_and_then_ends_the_key(admin_client: Client) -> None:
    record, plain = APIKey.objects.create_key(name="Acme")
    address = reverse("admin:apikeys_apikey_revoke", args=[record.pk])

    admin_client.get(address)
    assert status_with(plain) == 200

    admin_client.post(address)
    assert status_with(plain) == 401


def test_revoking_in_bulk_asks_first_and_then_ends_the_keys(admin_client: Client) -> None:
    made = [APIKey.objects.create_key(name=f"Acme <b>{number}") for number in range(3)]
    chosen = {"action": "revoke_selected", "index": 0, "_selected_action": [record.pk for record, _ in made[:2]]}

    asked = admin_client.post(LIST, chosen).content.decode()

    assert [status_with(plain) for _, plain in made] == [200, 200, 200]
    assert "Revoke 2 API keys?" in asked
    assert ["Acme &lt;b&gt;0" in asked, "Acme &lt;b&gt;1" in asked, "Acme &lt;b&gt;2" in asked] == [True, True, False]

    hidden = re.findall(r'name="(\w+)" value="([^"]*)"', asked)
    confirmed = {name: [value for other, value in hidden if other == name] for name, _ in hidden}
    response = admin_client.post(LIST, confirmed, follow=True)

    assert [status_with(plain) for _, plain in made] == [401, 401, 200]
    assert [str(message) for message in response.context["messages"]] == ["Revoked 2 API keys."]


def test_revoking_in_bulk_what_is_revoked_already_has_nothing_to_ask(admin_client: Client) -> None:
    record, _ = APIKey.objects.create_key(name="Acme")
    record.revoke()

    chosen = {"action": "revoke_selected", "index": 0, "_selected_action": [record.pk]}
    response = admin_client.post(LIST, chosen, follow=True)

    assert [str(message) for message in response.context["messages"]] == ["Revoked 0 API keys."]


@pytest.mark.parametrize("verb", ["revoke", "rotate"])
def test_a_page_that_asks_shows_no_more_than_it_asks(admin_client: Client, verb: str) -> None:
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


def test_no_key_can_be_deleted(admin_client: Client) -> None:
    record, _ = APIKey.objects.create_key(name="Acme")

    assert (
        admin_client.post(reverse("admin:apikeys_apikey_delete", args=[record.pk]), {"post": "yes"}).status_code == 403
    )


def test_rotating_shows_a_successor_and_lets_the_old_key_live_for_the_overlap(admin_client: Client) -> None:
    record, plain = APIKey.objects.create_key(name="Acme", access="read")

    response = admin_client.post(reverse("admin:apikeys_apikey_rotate", args=[record.pk]), ROTATE)

    successor = APIKey.objects.exclude(pk=record.pk).get()
    record.refresh_from_db()
    assert (successor.name, successor.access, successor.expires_at) == ("Acme", "read", None)
    assert [status_with(plain), status_with(shown_key(response))] == [200, 200]
    assert timedelta(hours=23) < record.expires_at - timezone.now() <= timedelta(hours=24)


def test_an_expired_key_is_not_rotated_and_the_page_says_why(admin_client: Client) -> None:
    record, _ = APIKey.objects.create_key(name="Acme", expires_at=timezone.now())

    response = admin_client.post(reverse("admin:apikeys_apikey_rotate", args=[record.pk]), ROTATE)

    assert "create a new one" in response.content.decode()
    assert APIKey.objects.count() == 1


@pytest.mark.parametrize("verb", ["revoke", "rotate"])
def test_the_page_of_a_key_that_does_not_exist_leads_back_to_the_list(admin_client: Client, verb: str) -> None:
    response = admin_client.post(reverse(f"admin:apikeys_apikey_{verb}", args=[999]))

    assert (response.status_code, response["Location"]) == (302, LIST)


def test_a_leaked_key_pasted_into_the_search_finds_its_record(admin_client: Client) -> None:
    record, plain = APIKey.objects.create_key(name="Acme")
    APIKey.objects.create_key(name="Other")

    found = admin_client.get(LIST, {"q": plain}).context["cl"].result_list

    assert list(found) == [record]


@pytest.mark.parametrize("page", ["change", "history"])
def test_the_page_of_a_key_that_does_not_exist_says_so(admin_client: Client, page: str) -> None:
    response = admin_client.get(reverse(f"admin:apikeys_apikey_{page}", args=[999]), follow=True)

    assert ["Perhaps it was deleted?" in str(message) for message in response.context["messages"]] == [True]
