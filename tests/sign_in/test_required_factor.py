"""The second factor of other people: its reset by administrators, and the setting that requires it."""

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import Group, Permission, User
from django.test import Client
from django.urls import reverse

from petservice.journal.models import Event
from petservice.sign_in import factors
from tests.accounts.pages import page_of
from tests.backoffice.clock import Clock
from tests.backoffice.login import ADD, INDEX, log_in
from tests.backoffice.pages import messages
from tests.backoffice.staff import PASSWORD
from tests.sign_in.authenticator import (
    MINUTE,
    SECOND_FACTOR,
    is_asked,
    log_in_again,
    set_up,
    with_factor,
)

# PostgreSQL ends a transaction after an error, which SQLite does not.
pytestmark = pytest.mark.once(on="postgresql")


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

    assert messages(done) == ["The second factor of ada was reset. The next login needs only the password."]
    entry = Event.objects.get(kind="second_factor")
    record = entry.items.get().record_name
    assert (entry.account_name, record, entry.message) == ("admin", "ada", "Reset by an administrator.")
    assert (log_in().status_code, url in admin_client.get(account_page).content.decode()) == (302, False)


def test_administrators_change_their_own_factor_on_its_page(admin_client: Client, admin_user: User) -> None:
    set_up(admin_client)
    url = page_of(admin_user, "reset-second-factor")

    assert url not in admin_client.get(page_of(admin_user)).content.decode()
    for response in (admin_client.get(url, follow=True), admin_client.post(url, follow=True)):
        assert messages(response) == ["This is your own account. Use “Second factor” under your name."]
    assert factors.is_set_up(admin_user)


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

    _, codes = set_up(admin_client)
    assert len(codes) == 10
    assert [admin_client.get(url).status_code for url in urls] == [200, 200, 200, 200, 404]

    factors.devices().delete()  # as a reset does while the session runs
    assert admin_client.get(INDEX).status_code == 302
    assert admin_client.post(reverse("admin:logout")).status_code == 200


def test_after_the_set_up_a_link_continues_where_the_person_was(settings: LazySettings, admin_client: Client) -> None:
    settings.SECOND_FACTOR = "all"
    set_up(admin_client)
    for target, link in [(ADD, ADD), ("https://evil.example/", INDEX), ("//evil.example", INDEX)]:
        codes = admin_client.post(f"{SECOND_FACTOR}?next={target}", {"renew": "yes"}).content.decode()
        assert f'<a class="button" href="{link}">I have saved the codes</a>' in codes
