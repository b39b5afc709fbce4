"""Django's pages of users are for administrators only, and protect the history and the last administrator."""

from html import unescape
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import reverse

from petservice.accounts import groups
from petservice.apikeys.models import APIKey
from tests.accounts.pages import audit_of, form_of, page_of
from tests.backoffice.login import INDEX, fail, log_in
from tests.backoffice.pages import messages, submit
from tests.backoffice.staff import logged_in

pytestmark = [pytest.mark.django_db, pytest.mark.once]

LIST = reverse("admin:auth_user_changelist")


@pytest.fixture
def key_creator(db: None) -> User:
    """An account whose history names an API key."""
    user = User.objects.create_user("maker", is_staff=True)
    LogEntry.objects.log_actions(user.pk, [APIKey.objects.create_key(name="Acme")[0]], 1, "Added.")
    return user


def user_page(user: User, verb: str = "change") -> str:
    return reverse(f"admin:auth_user_{verb}", args=[user.pk])


def deletions(user: User) -> list[tuple[str, dict[str, Any]]]:
    """Return the URLs and fields of both ways to delete an account: on its page and in the list."""
    return [(user_page(user, "delete"), {}), (LIST, {"action": "delete_selected", "_selected_action": [user.pk]})]


def test_an_account_with_a_change_history_is_not_deleted(admin_client: Client, key_creator: User) -> None:
    for url, fields in deletions(key_creator):
        question = admin_client.post(url, fields) if fields else admin_client.get(url)
        response = admin_client.post(url, fields | {"post": "yes"})

        assert "Change history of maker" in response.content.decode()
        for page in (question, response):  # the history can name keys
            assert "Acme" not in page.content.decode()
    assert LogEntry.objects.filter(user=key_creator).exists()


def test_the_last_administrator_is_not_deleted(admin_client: Client, admin_user: User) -> None:
    for url, fields in deletions(admin_user):
        response = admin_client.post(url, fields | {"post": "yes"})

        assert "This is your own account" in response.content.decode()
    assert User.objects.filter(pk=admin_user.pk).exists()


@pytest.mark.parametrize("box", ["is_active", "is_staff"])
def test_the_sessions_of_an_account_that_gets_a_box_back_do_not_begin_again(
    admin_client: Client, ada: User, box: str
) -> None:
    both = {"is_staff": "on", "is_active": "on"}
    session = logged_in(ada)
    assert session.get(INDEX).status_code == 200

    for boxes in ({name: value for name, value in both.items() if name != box}, both):
        submit(admin_client, user_page(ada), "user_form", boxes)

    ada.refresh_from_db()
    assert (ada.is_active, ada.is_staff) == (True, True)
    assert session.get(INDEX).status_code == 302


def test_a_new_e_mail_address_ends_no_session(admin_client: Client, ada: User) -> None:
    session = logged_in(ada)

    submit(admin_client, user_page(ada), "user_form", {"email": "ada@example.com", "is_staff": "on", "is_active": "on"})

    assert User.objects.get(pk=ada.pk).email == "ada@example.com"
    assert session.get(INDEX).status_code == 200


def test_the_sessions_of_an_account_that_becomes_staff_again_by_a_role_do_not_begin_again(
    admin_client: Client, ada: User
) -> None:
    session = logged_in(ada)
    User.objects.filter(pk=ada.pk).update(is_staff=False)

    admin_client.post(page_of(ada), form_of(admin_client, page_of(ada)) | {"role": groups.PETS_AND_INVENTORY})

    assert User.objects.get(pk=ada.pk).is_staff
    assert session.get(INDEX).status_code == 302


def test_an_account_without_a_change_history_is_deleted(admin_client: Client) -> None:
    for number, name in enumerate(("one", "two")):
        user = User.objects.create_user(name)
        url, fields = deletions(user)[number]

        admin_client.post(url, fields | {"post": "yes"})

        assert not User.objects.filter(username=name).exists()
        assert audit_of(user) == [("admin", "deleted", "Account deleted.")]


@pytest.mark.parametrize("box", ["is_active", "is_staff", "is_superuser"])
def test_the_last_administrator_keeps_all_boxes(admin_client: Client, admin_user: User, box: str) -> None:
    boxes = {name: "on" for name in ("is_active", "is_staff", "is_superuser") if name != box}

    response = submit(admin_client, user_page(admin_user), "user_form", boxes)

    assert "needs all three boxes under Permissions. This is your own account." in response.content.decode()
    admin_user.refresh_from_db()
    assert getattr(admin_user, box)


def test_the_last_administrator_keeps_a_password(admin_client: Client, admin_user: User) -> None:
    form = {"usable_password": "false", "password1": "", "password2": "", "unset-password": "1"}

    response = admin_client.post(user_page(admin_user, "password_change"), form, follow=True)

    assert messages(response) == [
        "The password was not disabled. This is your own account. Ask another administrator to do this."
    ]
    assert User.objects.get().has_usable_password()


def test_both_histories_of_an_account_show_the_changes_of_all_pages(admin_client: Client, ada: User) -> None:
    pets = Group.objects.get(name=groups.PETS_AND_INVENTORY)
    keys = Group.objects.get(name=groups.PETS_INVENTORY_AND_KEYS)
    ada.groups.set([pets])
    assert f'href="{page_of(ada)}"' in admin_client.get(user_page(ada)).content.decode()

    submit(
        admin_client,
        user_page(ada),
        "user_form",
        {"email": "ada@example.com", "groups": [keys.pk], "is_active": "on"},
    )
    admin_client.post(page_of(ada, "deactivate"))

    for url in (user_page(ada, "history"), page_of(ada, "history")):
        page = unescape(admin_client.get(url).content.decode())
        assert "Email address changed from nothing to “ada@example.com”." in page
        assert "Staff status changed from yes to no." in page
        assert f"Groups: added “{keys}”, removed “{pets}”." in page
        assert "Active changed" not in page
        assert "Deactivated. All sessions ended." in page
    assert [kind for _, kind, _ in audit_of(ada)] == ["account_changed"] * 2


def test_a_password_that_an_administrator_sets_unlocks_the_account(admin_client: Client, ada: User) -> None:
    fail()
    form = {"usable_password": "true", "password1": "another long one", "password2": "another long one"}

    for rejected in ({"password2": "a typing error"}, {"usable_password": "false"}):
        admin_client.post(user_page(ada, "password_change"), form | rejected)
        assert log_in("another long one").status_code == 429
    admin_client.post(user_page(ada, "password_change"), form)

    assert log_in("another long one").status_code == 302
    entries = [entry.get_change_message() for entry in LogEntry.objects.order_by("pk")]
    assert entries == ["Password changed.", "Unlocked."]
    assert "another long one" not in str(audit_of(ada))


def test_an_administrator_stays_logged_in_after_setting_the_own_password(
    admin_client: Client, admin_user: User
) -> None:
    admin_client.post(page_of(admin_user, "end-sessions"), {"version": "0"})
    admin_client.force_login(User.objects.get())
    form = {"usable_password": "true", "password1": "another long one", "password2": "another long one"}

    admin_client.post(user_page(admin_user, "password_change"), form)

    assert admin_client.get(INDEX).status_code == 200
