"""Administrators unlock accounts in the admin."""

import pytest
from axes.models import AccessAttempt
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from tests.backoffice.login import ELSEWHERE, LOGIN, fail, log_in
from tests.backoffice.pages import messages
from tests.backoffice.staff import staff

pytestmark = pytest.mark.django_db


@pytest.fixture
def urls(ada: User) -> dict[str, str]:
    """The URLs of the page of the account, and of the form that unlocks it."""
    return {
        "page": reverse("admin:auth_user_change", args=[ada.pk]),
        "unlock": reverse("admin:auth_user_unlock", args=[ada.pk]),
        "password": reverse("admin:auth_user_password_change", args=[ada.pk]),
    }


def test_an_administrator_unlocks_an_account_for_all_addresses(
    admin_client: Client, ada: User, urls: dict[str, str]
) -> None:
    fail()
    fail(address=ELSEWHERE)
    assert f'href="{urls["unlock"]}"' in admin_client.get(urls["page"]).content.decode()

    assert "Unlock ada?" in admin_client.get(urls["unlock"]).content.decode()
    assert log_in().status_code == 429, "the question alone unlocks the account"
    response = admin_client.post(urls["unlock"], follow=True)

    assert messages(response) == ["ada is unlocked and can log in again."]
    assert [log_in().status_code, log_in(address=ELSEWHERE).status_code] == [302, 302]
    assert [entry.get_change_message() for entry in LogEntry.objects.filter(object_id=ada.pk)] == ["Unlocked."]


def test_an_account_that_is_not_locked_has_no_button(admin_client: Client, urls: dict[str, str]) -> None:
    fail(4)

    assert urls["unlock"] not in admin_client.get(urls["page"]).content.decode()
    assert messages(admin_client.get(urls["unlock"], follow=True)) == ["ada is not locked."]
    assert messages(admin_client.post(urls["unlock"], follow=True)) == ["ada is not locked."]
    assert not LogEntry.objects.exists()


def test_other_accounts_remain_locked(admin_client: Client, urls: dict[str, str]) -> None:
    fail()
    fail(name="bob")

    admin_client.post(urls["unlock"])

    assert [attempt.username for attempt in AccessAttempt.objects.all()] == ["bob"]


def test_staff_without_the_permission_cannot_unlock_an_account(ada: User, urls: dict[str, str]) -> None:
    fail()
    client = staff()

    assert [client.get(urls["unlock"]).status_code, client.post(urls["unlock"]).status_code] == [403, 403]
    assert log_in().status_code == 429


def test_a_password_reset_by_an_administrator_unlocks_the_account(
    admin_client: Client, ada: User, urls: dict[str, str]
) -> None:
    fail()
    form = {"usable_password": "true", "password1": "another long one", "password2": "another long one"}

    for rejected in ({"password2": "a typing error"}, {"usable_password": "false"}):
        admin_client.post(urls["password"], form | rejected)
        assert log_in("another long one").status_code == 429
    admin_client.post(urls["password"], form)

    assert log_in("another long one").status_code == 302
    assert LogEntry.objects.filter(object_id=ada.pk, change_message="Unlocked.").exists()


def test_unlocking_a_missing_account_is_a_page_not_found(admin_client: Client) -> None:
    assert admin_client.get(reverse("admin:auth_user_unlock", args=[4711])).status_code == 404


def test_the_login_page_says_whom_to_ask_about_a_forgotten_password(client: Client) -> None:
    assert "Forgotten your password? Ask an administrator." in client.get(LOGIN).content.decode()
