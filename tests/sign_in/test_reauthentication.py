"""Confirmations before API keys, accounts and the own password are changed."""

from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse

from petservice.apikeys.models import APIKey
from petservice.journal.models import Event
from tests.accounts.pages import NEW_PASSWORD, PASSWORDS, audit_of
from tests.backoffice.login import LIMIT, PASSWORD, log_in
from tests.backoffice.pages import fields_of, read
from tests.backoffice.staff import logged_in
from tests.sign_in.authenticator import MINUTE, is_asked, let_pass, with_factor

# PostgreSQL ends a transaction after an error, which SQLite does not.
pytestmark = pytest.mark.once(on="postgresql")

ADD_KEY = reverse("admin:apikeys_apikey_add")
KEYS = reverse("admin:apikeys_apikey_changelist")
PASSWORD_CHANGE = reverse("admin:password_change")


def confirm(client: Client, asked: Any, entered: str, url: str = "", **changes: str) -> Any:
    fields = fields_of(asked, "confirmation-form") | {"password_or_code": entered, **changes}
    return client.post(url or asked.request["PATH_INFO"], fields)


def new_key(client: Client) -> dict[str, str]:
    return read(client, ADD_KEY, "apikey_form") | {"name": "Käse & <Söhne>", "_save": "Save"}


def test_within_15_minutes_of_the_login_nothing_is_asked(boss_client: Client) -> None:
    let_pass(boss_client, 14 * MINUTE)

    assert "This is the only time" in boss_client.post(ADD_KEY, new_key(boss_client)).content.decode()


def test_later_the_password_is_asked_and_the_form_continues(boss_client: Client) -> None:
    let_pass(boss_client, 15 * MINUTE)
    fields = new_key(boss_client)

    asked = boss_client.post(ADD_KEY, fields)
    assert (asked.status_code, is_asked(asked), APIKey.objects.exists()) == (200, True, False)
    assert "no-store" in asked["Cache-Control"]
    wrong = confirm(boss_client, asked, "wrong")
    assert (is_asked(wrong), "Try again" in wrong.content.decode(), APIKey.objects.exists()) == (True, True, False)
    created = confirm(boss_client, wrong, PASSWORD)

    assert "This is the only time" in created.content.decode()
    assert APIKey.objects.get().name == "Käse & <Söhne>"
    assert "This is the only time" in boss_client.post(ADD_KEY, new_key(boss_client)).content.decode(), "asked again"
    entry = Event.objects.get(kind="second_factor")
    assert (entry.account_name, entry.message) == ("boss", "Wrong code or password when asked to confirm.")


def test_an_account_with_a_factor_is_asked_for_a_code(boss: User) -> None:
    app = with_factor(boss)
    client = Client()
    client.post(reverse("admin:login"), fields_of(log_in(name="boss"), "code-form") | {"code": app.code()}, follow=True)
    let_pass(client, 16 * MINUTE)

    asked = client.post(ADD_KEY, new_key(client))
    assert "Code:" in asked.content.decode()
    assert is_asked(confirm(client, asked, PASSWORD)), "the password is enough"
    code = app.code()
    assert "This is the only time" in confirm(client, asked, code).content.decode()
    let_pass(client, 16 * MINUTE)
    assert is_asked(confirm(client, asked, code)), "the code worked twice"


def test_rotating_revoking_and_actions_ask(boss_client: Client, create_key: Any) -> None:
    create_key()
    key = APIKey.objects.get()
    let_pass(boss_client, 16 * MINUTE)
    change, rotate, revoke = (
        reverse(f"admin:apikeys_apikey_{name}", args=[key.pk]) for name in ("change", "rotate", "revoke")
    )
    action = {"action": "revoke_selected", "_selected_action": str(key.pk), "confirmed": "yes"}

    asked = [boss_client.post(url) for url in (change, rotate, revoke)] + [boss_client.post(KEYS, action)]

    assert all(map(is_asked, asked))
    assert not APIKey.objects.exclude(revoked_at=None).exists()
    assert boss_client.get(change).status_code == 200, "reading asks"
    assert confirm(boss_client, asked[-1], PASSWORD).status_code == 302
    key.refresh_from_db()
    assert key.is_revoked


def test_changes_of_accounts_and_groups_ask(boss_client: Client, ada: User) -> None:
    let_pass(boss_client, 16 * MINUTE)
    group = Group.objects.first()
    urls = [
        reverse("admin:auth_user_change", args=[ada.pk]),
        reverse("admin:accounts_account_add"),
        *(reverse(f"admin:accounts_account_{name}", args=[ada.pk]) for name in ("change", "link", "deactivate")),
        reverse("admin:auth_group_change", args=[group.pk]),
        reverse("admin:auth_group_add"),
    ]

    assert [is_asked(boss_client.post(url, {"name": "x"})) for url in urls] == [True] * len(urls)
    assert [is_asked(boss_client.get(url)) for url in urls] == [False] * len(urls)


@pytest.mark.usefixtures("boss")
def test_guesses_of_the_password_are_limited(boss_client: Client) -> None:
    let_pass(boss_client, 16 * MINUTE)
    asked = boss_client.post(ADD_KEY, new_key(boss_client))

    statuses = [confirm(boss_client, asked, "guess").status_code for _ in range(LIMIT)]

    assert statuses == [200] * (LIMIT - 1) + [429]
    assert confirm(boss_client, asked, PASSWORD).status_code == 429
    assert log_in(name="boss", address="127.0.0.1").status_code == 429
    assert not APIKey.objects.exists()


def test_a_correct_password_resets_the_count(boss_client: Client) -> None:
    for _ in range(2):
        let_pass(boss_client, 16 * MINUTE)
        asked = boss_client.post(ADD_KEY, new_key(boss_client))
        assert [confirm(boss_client, asked, "guess").status_code for _ in range(LIMIT - 1)] == [200] * (LIMIT - 1)
        assert confirm(boss_client, asked, PASSWORD).status_code == 200


def test_sending_the_confirmation_twice_creates_one_key(boss_client: Client) -> None:
    let_pass(boss_client, 16 * MINUTE)
    asked = boss_client.post(ADD_KEY, new_key(boss_client))

    first, second = confirm(boss_client, asked, PASSWORD), confirm(boss_client, asked, PASSWORD)

    assert (first.status_code, second.status_code, APIKey.objects.count()) == (200, 302, 1)


def test_a_factor_that_another_session_set_up_is_asked_for_at_once(boss: User, boss_client: Client) -> None:
    app = with_factor(boss)
    asked = boss_client.get(KEYS)
    posted = boss_client.post(ADD_KEY, {"name": "Acme"})
    assert (is_asked(asked), is_asked(posted)) == (True, True)

    assert confirm(boss_client, asked, app.code(), KEYS)["Location"] == KEYS
    assert not is_asked(boss_client.get(KEYS))
    other = logged_in(boss)
    created = confirm(other, other.post(ADD_KEY, {"name": "Acme"}), app.code(), ADD_KEY)
    assert "Please correct the errors below." in created.content.decode(), "the form did not continue"


def test_a_person_without_permission_is_refused_after_the_confirmation_as_well(ada: User) -> None:
    client = logged_in(ada)
    let_pass(client, 16 * MINUTE)

    asked = client.post(ADD_KEY, {"name": "Acme"})

    assert confirm(client, asked, PASSWORD).status_code == 403


def test_strangers_cannot_have_passwords_checked(boss: User, monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[str] = []
    monkeypatch.setattr(User, "check_password", lambda user, password: checked.append(password))
    fields = {"name": "Acme", "password_or_code": PASSWORD, "confirmed_method": "POST"}

    for url in (ADD_KEY, reverse("admin:second_factor"), reverse("admin:index")):
        assert "Your session has ended" in Client().post(url, fields).content.decode()

    assert checked == []


# The page on which staff change their own password.


def change(client: Client, old: str, **others: str) -> int:
    return client.post(PASSWORD_CHANGE, PASSWORDS | {"old_password": old} | others).status_code


def test_guesses_of_the_present_password_are_limited(boss: User, boss_client: Client) -> None:
    assert [change(boss_client, "guess") for _ in range(LIMIT)] == [200] * (LIMIT - 1) + [429]

    assert change(boss_client, PASSWORD) == 429
    boss.refresh_from_db()
    assert boss.check_password(PASSWORD)
    assert len(audit_of(boss)) == LIMIT


def test_a_change_is_recorded_and_typing_errors_count_for_nothing(boss: User, boss_client: Client) -> None:
    assert [change(boss_client, PASSWORD, new_password2="x") for _ in range(LIMIT)] == [200] * LIMIT
    assert [change(boss_client, "") for _ in range(LIMIT)] == [200] * LIMIT
    assert change(boss_client, "guess") == 200

    assert change(boss_client, PASSWORD) == 302

    assert audit_of(boss)[-1] == ("boss", "account_changed", "Password changed by the person.")
    assert log_in(NEW_PASSWORD, name="boss", address="127.0.0.1").status_code == 302
    assert boss_client.get(PASSWORD_CHANGE).status_code == 200, "the session has ended"
