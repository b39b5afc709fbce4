"""What sessions may do until they end: logins before changes, and a second factor that the operator requires."""

from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import Group, Permission, User
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django_otp.plugins.otp_totp.models import TOTPDevice

from petservice.apikeys.models import APIKey
from petservice.journal.models import Event
from petservice.sign_in import factors
from tests.accounts.pages import NEW_PASSWORD, PASSWORDS, audit_of
from tests.backoffice.clock import Clock
from tests.backoffice.login import ADD, INDEX, LIMIT, PASSWORD, log_in
from tests.backoffice.pages import read
from tests.backoffice.staff import is_logged_in, logged_in
from tests.concurrent_write import only_on_postgresql, write_before
from tests.sign_in.authenticator import MINUTE, SECOND_FACTOR, is_asked, log_in_again, send_again, set_up, with_factor

# PostgreSQL ends a transaction after an error, which SQLite does not.
pytestmark = pytest.mark.once(on="postgresql")

ADD_KEY = reverse("admin:apikeys_apikey_add")
KEYS = reverse("admin:apikeys_apikey_changelist")
PASSWORD_CHANGE = reverse("admin:password_change")


# The end of sessions: 12 hours after the login, and after 30 minutes without use on shared computers.


@pytest.mark.usefixtures("ada")
@pytest.mark.parametrize(("sent", "minutes"), [({}, 12 * 60), ({"is_shared": "on"}, 30)])
def test_a_session_ends_12_hours_after_the_login_although_it_is_used(
    clock: Clock, sent: dict[str, str], minutes: int
) -> None:
    client = log_in(**sent).client
    assert client.cookies["sessionid"]["max-age"] == minutes * 60

    for _ in range(24):
        clock.advance(29 * MINUTE)
        session = client.session
        session["anything"] = str(timezone.now())  # a write, which would prolong Django's own sessions
        session.save()
        assert is_logged_in(client)
    clock.advance(23 * MINUTE)
    assert is_logged_in(client)
    clock.advance(MINUTE)
    assert not is_logged_in(client)


def test_on_a_shared_computer_a_session_ends_after_30_minutes_without_use(ada: User, clock: Clock) -> None:
    client = log_in(is_shared="on", code=with_factor(ada).code()).client
    assert is_logged_in(client)
    clock.advance(30 * MINUTE)
    assert not is_logged_in(client)


@pytest.mark.usefixtures("ada")
def test_a_new_login_begins_a_new_session_that_is_not_shared(clock: Clock) -> None:
    client = log_in(is_shared="on").client
    log_in(client=client)
    clock.advance(120 * MINUTE)

    assert is_logged_in(client)


@pytest.mark.usefixtures("ada")
@pytest.mark.parametrize("sent", [{}, {"is_shared": "on"}])
def test_requests_do_not_write_the_session(sent: dict[str, str], django_assert_num_queries: Any) -> None:
    client = log_in(**sent).client
    client.get(INDEX)

    with django_assert_num_queries(5) as queries:  # session, account, second factor, two for the menu
        client.get("/admin/help/")

    assert all(query["sql"].startswith("SELECT") for query in queries.captured_queries)


# Logins before changes.


def new_key(client: Client) -> dict[str, str]:
    return read(client, ADD_KEY, "apikey_form") | {"name": "Käse & <Söhne>", "_save": "Save"}


def test_15_minutes_after_the_login_another_is_needed_and_the_form_can_be_sent_again(
    admin_client: Client, clock: Clock
) -> None:
    clock.advance(14 * MINUTE)
    assert "This is the only time" in admin_client.post(ADD_KEY, new_key(admin_client)).content.decode()
    APIKey.objects.all().delete()
    clock.advance(MINUTE)

    asked = admin_client.post(ADD_KEY, new_key(admin_client))
    assert (asked.status_code, is_asked(asked), APIKey.objects.exists()) == (200, True, False)
    assert "no-store" in asked["Cache-Control"]
    assert 'value="admin"' in asked.content.decode()
    wrong = log_in_again(admin_client, asked, "wrong")
    assert (is_asked(wrong), APIKey.objects.exists()) == (True, False)
    created = send_again(admin_client, log_in_again(admin_client, asked, PASSWORD))

    assert "This is the only time" in created.content.decode()
    assert APIKey.objects.get().name == "Käse & <Söhne>"
    assert "This is the only time" in admin_client.post(ADD_KEY, new_key(admin_client)).content.decode(), "asked again"


def test_every_change_of_keys_accounts_and_groups_asks_and_reading_does_not(
    admin_client: Client, ada: User, clock: Clock
) -> None:
    key, _ = APIKey.objects.create_key(name="Acme")
    clock.advance(16 * MINUTE)
    group = Group.objects.first()
    urls = [
        *(reverse(f"admin:apikeys_apikey_{name}", args=[key.pk]) for name in ("change", "rotate", "revoke")),
        reverse("admin:auth_user_change", args=[ada.pk]),
        reverse("admin:accounts_account_add"),
        *(reverse(f"admin:accounts_account_{name}", args=[ada.pk]) for name in ("change", "link", "deactivate")),
        reverse("admin:auth_group_change", args=[group.pk]),
        reverse("admin:auth_group_add"),
    ]

    assert [is_asked(admin_client.post(url, {"name": "x"})) for url in urls] == [True] * len(urls)
    assert [is_asked(admin_client.get(url)) for url in urls] == [False] * len(urls)
    asked = admin_client.post(reverse("admin:apikeys_apikey_revoke", args=[key.pk]), {"a": "1", "b": "2"})
    assert not APIKey.objects.exclude(revoked_at=None).exists()
    assert send_again(admin_client, log_in_again(admin_client, asked, PASSWORD)).status_code == 302
    assert APIKey.objects.exclude(revoked_at=None).exists()


def test_a_session_on_a_shared_computer_stays_one(admin_user: User, clock: Clock) -> None:
    client = log_in(name="admin", is_shared="on").client
    clock.advance(16 * MINUTE)

    log_in_again(client, client.post(ADD_KEY, new_key(client)), PASSWORD)

    assert client.session["is_shared"]


def test_a_factor_that_another_session_set_up_is_asked_for_at_once(admin_user: User, admin_client: Client) -> None:
    app = with_factor(admin_user)
    asked = admin_client.get(KEYS)
    posted = admin_client.post(ADD_KEY, {"name": "Acme", "access": "read"})
    assert (is_asked(asked), is_asked(posted)) == (True, True)

    assert log_in_again(admin_client, asked, PASSWORD, app.code())["Location"] == KEYS
    assert not is_asked(admin_client.get(KEYS))
    other = logged_in(admin_user)
    posted = other.post(ADD_KEY, {"name": "Acme", "access": "read"})
    created = send_again(other, log_in_again(other, posted, PASSWORD, app.code()))
    assert "Please correct the errors below." in created.content.decode(), "the form did not continue"


# The page on which staff change their own password.


def change(client: Client, old: str, **others: str) -> int:
    return client.post(PASSWORD_CHANGE, PASSWORDS | {"old_password": old} | others).status_code


@pytest.mark.usefixtures("clock")  # which counts failures of a quarter of an hour together
def test_guesses_of_the_present_password_are_failed_logins(admin_user: User, admin_client: Client) -> None:
    assert [change(admin_client, "guess") for _ in range(LIMIT)] == [200] * (LIMIT - 1) + [429]

    assert change(admin_client, PASSWORD) == 429
    admin_user.refresh_from_db()
    assert admin_user.check_password(PASSWORD)
    failures = Event.objects.filter(kind=Event.Kind.LOGIN_FAILED)
    assert [*failures.values_list("account_name", "count")] == [("admin", LIMIT)]


def test_a_change_of_the_password_is_recorded_and_forgets_guesses_and_typing_errors_count_for_nothing(
    admin_user: User, admin_client: Client
) -> None:
    assert [change(admin_client, PASSWORD, new_password2="x") for _ in range(LIMIT)] == [200] * LIMIT
    assert [change(admin_client, "") for _ in range(LIMIT)] == [200] * LIMIT
    assert [change(admin_client, "guess") for _ in range(LIMIT - 1)] == [200] * (LIMIT - 1)

    assert change(admin_client, PASSWORD) == 302

    assert audit_of(admin_user)[-1] == ("admin", "account_changed", "Password changed by the person.")
    assert log_in("wrong", name="admin", address="127.0.0.1").status_code == 200
    assert log_in(NEW_PASSWORD, name="admin", address="127.0.0.1").status_code == 302
    assert admin_client.get(PASSWORD_CHANGE).status_code == 200, "the session has ended"


@only_on_postgresql
def test_an_account_that_is_deactivated_while_its_password_changes_stays_deactivated(
    admin_user: User, admin_client: Client
) -> None:
    deactivated = User.objects.filter(pk=admin_user.pk)

    with write_before('UPDATE "auth_user"', lambda: deactivated.update(is_active=False, is_superuser=False)):
        assert change(admin_client, PASSWORD) == 403

    admin_user.refresh_from_db()
    assert (admin_user.is_active, admin_user.is_superuser) == (False, False)


# The setting that requires a factor of some accounts or of all.


def test_the_setting_decides_of_whom_a_factor_is_required(settings: LazySettings, admin_user: User) -> None:
    people = {name: User.objects.create_user(name, is_staff=True) for name in ("pets", "keys", "viewer", "users")}
    people["pets"].groups.add(Group.objects.get(name="Pets and inventory"))
    people["keys"].groups.add(Group.objects.get(name="Pets, inventory and API keys"))
    # Only administrators change accounts, whatever permission someone has for users.
    for name, permission in [("viewer", "view_apikey"), ("users", "change_user")]:
        people[name].user_permissions.add(Permission.objects.get(codename=permission))

    everyone = people | {"admin": admin_user}
    for setting, required in {"off": [], "keys": ["keys", "admin"], "all": [*everyone]}.items():
        settings.SECOND_FACTOR = setting
        assert [name for name, user in everyone.items() if factors.is_required(user)] == required, setting


def test_without_a_factor_such_a_person_can_only_set_it_up(settings: LazySettings, admin_client: Client) -> None:
    settings.SECOND_FACTOR = "keys"
    urls = [INDEX, ADD, reverse("admin:apikeys_apikey_add"), reverse("admin:password_change"), "/admin/nothing/"]

    for url in urls:
        response = admin_client.get(url, follow=True)
        assert response.redirect_chain == [(f"{SECOND_FACTOR}?next={url}", 302)]
        assert "Set it up to continue." in response.content.decode()
        assert admin_client.post(url, {"name": "Rex"})["Location"].startswith(SECOND_FACTOR)

    set_up(admin_client)
    assert [admin_client.get(url).status_code for url in urls] == [200, 200, 200, 200, 404]

    TOTPDevice.objects.all().delete()  # as a reset does while the session runs
    assert admin_client.get(INDEX).status_code == 302
    assert admin_client.post(reverse("admin:logout")).status_code == 200


def test_after_the_set_up_a_link_continues_where_the_person_was(settings: LazySettings, admin_client: Client) -> None:
    settings.SECOND_FACTOR = "all"
    set_up(admin_client)
    for target, link in [(ADD, ADD), ("https://evil.example/", INDEX), ("//evil.example", INDEX)]:
        codes = admin_client.post(f"{SECOND_FACTOR}?next={target}", {"renew": "yes"}).content.decode()
        assert f'<a class="button" href="{link}">I have saved the codes</a>' in codes
