"""Administrators unlock, deactivate and reactivate accounts, end all sessions of one, and reset its second factor."""

import pytest
from axes.models import AccessAttempt
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client

from petservice.accounts.groups import PETS_AND_INVENTORY
from petservice.journal.models import Event
from petservice.sign_in import factors
from tests.accounts.pages import audit_of, new_link, page_of, use
from tests.backoffice.clock import Clock
from tests.backoffice.login import ELSEWHERE, fail, log_in
from tests.backoffice.pages import messages, read
from tests.backoffice.staff import PASSWORD, is_logged_in, logged_in
from tests.concurrent_write import only_on_postgresql, write_before
from tests.sign_in.authenticator import MINUTE, is_asked, log_in_again, set_up, with_factor

pytestmark = [pytest.mark.django_db, pytest.mark.once(on="postgresql")]


def test_an_administrator_unlocks_an_account_for_all_addresses(admin_client: Client, ada: User) -> None:
    unlock = page_of(ada, "unlock")
    fail(4)
    assert unlock not in admin_client.get(page_of(ada)).content.decode(), "it is not locked yet"
    fail()
    fail(address=ELSEWHERE)
    fail(name="bob")
    assert f'href="{unlock}"' in admin_client.get(page_of(ada)).content.decode()

    assert "is locked after too many failed logins" in admin_client.get(unlock).content.decode()
    assert log_in().status_code == 429, "the question alone unlocks the account"
    response = admin_client.post(unlock, follow=True)

    assert messages(response) == ["Account ada: Unlocked."]
    assert unlock not in response.content.decode()
    assert [log_in().status_code, log_in(address=ELSEWHERE).status_code] == [302, 302]
    assert [attempt.username for attempt in AccessAttempt.objects.all()] == ["bob"]
    assert audit_of(ada) == [("admin", "account_changed", "Unlocked.")]


@pytest.mark.parametrize("arguments", ["", "_username ada eve", "_ip 192.0.2.7", "_ip_username 192.0.2.7 ada"])
def test_a_command_unlocks_an_account_and_is_in_the_audit_if_the_account_was_locked(ada: User, arguments: str) -> None:
    command = f"axes_reset{arguments}".split()
    fail(4)
    call_command(*command)
    assert not audit_of(ada), "it was not locked yet"
    fail()
    call_command("axes_reset_username", "eve")

    call_command(*command)

    assert log_in().status_code == 302
    ((account, kind, message),) = audit_of(ada)
    assert (account, kind) == ("command", "account_changed")
    assert message.startswith("Unlocked by a command. Run by ")


def test_a_deactivated_account_has_no_sessions_and_no_links_even_after_it_is_active_again(
    admin_client: Client, ada: User
) -> None:
    session, link = logged_in(ada), new_link(admin_client, ada)

    assert "cannot log in any more" in admin_client.get(page_of(ada, "deactivate")).content.decode()
    assert is_logged_in(session), "the question alone deactivates the account"
    response = admin_client.post(page_of(ada, "deactivate"), follow=True)

    assert messages(response) == ["Account ada: Deactivated. All sessions ended."]
    assert not is_logged_in(session)
    assert log_in().status_code == 200
    assert use(link).status_code == 404

    User.objects.filter(pk=ada.pk).update(is_active=True)
    assert not is_logged_in(session), "a session lives again when another program reactivates the account"
    User.objects.filter(pk=ada.pk).update(is_active=False)

    late = logged_in(ada)  # a login that was in progress
    assert messages(admin_client.post(page_of(ada, "reactivate"), follow=True)) == ["Account ada: Reactivated."]
    assert [is_logged_in(session), is_logged_in(late)] == [False, False]
    assert use(link).status_code == 404
    assert log_in().status_code == 302
    assert [message for _, _, message in audit_of(ada)][1:] == ["Deactivated. All sessions ended.", "Reactivated."]


def test_what_is_not_possible_in_the_present_state_of_an_account_changes_nothing(
    admin_client: Client, ada: User
) -> None:
    impossible = {True: ("unlock", "reactivate", "reset-second-factor"), False: ("deactivate", "end-sessions", "link")}
    for is_active, verbs in impossible.items():
        User.objects.filter(pk=ada.pk).update(is_active=is_active)
        for verb in verbs:
            (told,) = messages(admin_client.post(page_of(ada, verb), follow=True))
            assert told.endswith(" is not possible in the present state of the account ada. Nothing was changed."), verb

    assert audit_of(ada) == []


def test_all_sessions_of_an_account_end_and_no_others(admin_client: Client, admin_user: User, ada: User) -> None:
    first, second = logged_in(ada), logged_in(ada)

    response = admin_client.post(page_of(ada, "end-sessions"), follow=True)

    assert messages(response) == ["Account ada: All sessions ended."]
    assert [is_logged_in(first), is_logged_in(second), is_logged_in(admin_client)] == [False, False, True]
    assert audit_of(ada) == [("admin", "account_changed", "All sessions ended.")]
    own = page_of(admin_user, "end-sessions")
    assert "you must log in again, too" in admin_client.get(own).content.decode()
    assert admin_client.post(own).status_code == 302
    assert not is_logged_in(admin_client)


def test_the_own_account_stays_an_active_administrator(admin_client: Client, admin_user: User) -> None:
    set_up(admin_client)
    page, actions = page_of(admin_user), [page_of(admin_user, verb) for verb in ("deactivate", "reset-second-factor")]
    assert not [url for url in actions if url in admin_client.get(page).content.decode()]
    other_role = read(admin_client, page, "account_form") | {"role": PETS_AND_INVENTORY}

    for url in actions:
        assert "this is your own account" in messages(admin_client.post(url, follow=True))[0]
    assert "this is your own account" in admin_client.post(page, other_role).content.decode()
    assert User.objects.filter(pk=admin_user.pk, is_active=True, is_superuser=True).exists()
    assert factors.is_set_up(admin_user)
    assert [kind for _, kind, _ in audit_of(admin_user)] == ["second_factor"]
    colleague = logged_in(User.objects.create_superuser("bob"))
    assert colleague.post(page, other_role).status_code == 302
    assert not User.objects.get(pk=admin_user.pk).is_superuser


@only_on_postgresql
def test_two_administrators_cannot_deactivate_each_other() -> None:
    one, two = [User.objects.create_superuser(name, password="a long one") for name in ("one", "two")]
    client, other = logged_in(one), logged_in(two)

    def deactivate_one() -> None:
        assert other.post(page_of(one, "deactivate")).status_code == 403

    with write_before('UPDATE "auth_user"', deactivate_one):
        client.post(page_of(two, "deactivate"))

    assert [*User.objects.filter(is_active=True)] == [one]


# A lost device.


def test_an_administrator_resets_the_factor_of_another_account(ada: User, admin_client: Client, clock: Clock) -> None:
    with_factor(ada)
    url, account_page = page_of(ada, "reset-second-factor"), page_of(ada)
    assert url in admin_client.get(account_page).content.decode()
    clock.advance(16 * MINUTE)

    assert "only if ada has asked you in person" in admin_client.get(url).content.decode()
    asked = admin_client.post(url)
    assert (is_asked(asked), factors.is_set_up(ada)) == (True, True)
    assert log_in_again(admin_client, asked, PASSWORD)["Location"] == url
    done = admin_client.post(url, follow=True)

    assert messages(done) == ["Account ada: Second factor reset by an administrator."]
    entry = Event.objects.get(kind="second_factor")
    record = entry.items.get().record_name
    assert (entry.account_name, record, entry.message) == ("admin", "ada", "Second factor reset by an administrator.")
    assert (log_in().status_code, url in admin_client.get(account_page).content.decode()) == (302, False)
