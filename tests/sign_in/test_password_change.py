"""The page on which staff change their own password."""

from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from tests.accounts.pages import NEW_PASSWORD, PASSWORDS, audit_of
from tests.backoffice.login import LIMIT, PASSWORD, log_in

PAGE = reverse("admin:password_change")


def change(client: Client, old: str, **others: str) -> int:
    return client.post(PAGE, PASSWORDS | {"old_password": old} | others).status_code


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
    assert boss_client.get(PAGE).status_code == 200, "the session has ended"
