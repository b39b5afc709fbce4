"""The second factor: logins with its code, its page, its reset by administrators, and the setting that requires it."""

import hashlib
import re
from base64 import b32encode
from datetime import timedelta
from typing import Any

import pytest
from axes.models import AccessAttempt
from django.conf import LazySettings
from django.contrib.auth.models import Group, Permission, User
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone
from django_otp.plugins.otp_static.models import StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

from petservice.journal.models import Event
from petservice.sign_in import factors
from tests.accounts.pages import page_of
from tests.backoffice.clock import Clock
from tests.backoffice.login import ADD, ELSEWHERE, HERE, INDEX, LIMIT, LOGIN, fail, is_logged_in, log_in
from tests.backoffice.pages import fields_of, messages
from tests.backoffice.staff import PASSWORD, logged_in
from tests.concurrent_write import only_on_postgresql, write_before
from tests.sign_in.authenticator import (
    MINUTE,
    SECOND_FACTOR,
    Authenticator,
    app_of,
    is_asked,
    log_in_again,
    recovery_codes,
    send_again,
    set_up,
    with_factor,
)

# PostgreSQL ends a transaction after an error, which SQLite does not.
pytestmark = pytest.mark.once(on="postgresql")


@pytest.fixture
def app(ada: User) -> Authenticator:
    return with_factor(ada)


def test_a_login_needs_the_password_and_the_code(app: Authenticator) -> None:
    client = Client()
    page = log_in(client=client)
    assert "Enter the code of your second factor as well." in page.content.decode()
    assert "no-store" in page["Cache-Control"]
    assert client.get(ADD).status_code == 302, "the password alone logs in"

    assert "This code is wrong" in log_in(code="000000", client=client).content.decode()
    assert "sessionid" not in client.cookies
    code = app.code()
    assert "This code is wrong" not in log_in("wrong", code=code, client=client).content.decode()
    assert is_logged_in(log_in(code=f" {code[:3]} {code[3:]}", client=client)), "the wrong password used the code up"
    assert client.get("/admin/").status_code == 200
    assert Event.objects.filter(kind="second_factor").count() == 0, "a correct code is no event of its own"


def test_a_recovery_code_works_once_in_place_of_a_code_and_is_recorded(ada: User) -> None:
    _, codes = set_up(logged_in(ada))

    assert is_logged_in(log_in(code=codes[3].upper()))
    assert not is_logged_in(log_in(code=codes[3]))
    assert is_logged_in(log_in(code=codes[4].replace("-", " ")))
    entries = Event.objects.filter(kind="second_factor", message__startswith="Recovery code used")
    assert [(entry.account, entry.address, entry.message[-7:]) for entry in entries] == [
        (ada, HERE, "8 left."),
        (ada, HERE, "9 left."),
    ]


@pytest.mark.usefixtures("app")
def test_any_other_text_is_a_wrong_code() -> None:
    for number, code in enumerate(("12345", "1234567", "٠٠٠٠٠٠", "-00001", "+12345")):
        response = log_in(code=code, address=f"198.51.100.{number}")

        assert (response.status_code, "This code is wrong" in response.content.decode()) == (200, True), code


@only_on_postgresql
def test_a_code_that_is_sent_again_while_it_is_accepted_works_once(ada: User, rf: RequestFactory) -> None:
    code = with_factor(ada).code()
    again: list[Any] = []

    with write_before(
        'UPDATE "otp_totp_totpdevice"', lambda: again.append(factors.accepting_device(rf.get(LOGIN), ada, code))
    ):
        assert factors.accepting_device(rf.get(LOGIN), ada, code)

    assert again == [None]


@only_on_postgresql
def test_two_factors_of_an_account_cannot_be_set_up_at_the_same_time(ada: User, rf: RequestFactory) -> None:
    code = Authenticator(factors.device_to_confirm(ada, is_new=True).bin_key).code()
    others: list[Any] = []

    def set_up_a_factor() -> Any:
        request = rf.get(LOGIN)
        request.user = User.objects.get(pk=ada.pk)
        return factors.set_up(request, code)

    with write_before('UPDATE "otp_totp_totpdevice"', lambda: others.append(set_up_a_factor())):
        assert set_up_a_factor()

    assert others == [None]
    assert StaticToken.objects.count() == factors.RECOVERY_CODES


# Limits on guessing.


def end_the_wait() -> None:
    """Let the time pass for which wrong codes delay the next one, which is a few hundredths of a second here."""
    TOTPDevice.objects.update(throttling_failure_timestamp=timezone.now() - timedelta(minutes=1))


def test_wrong_codes_lock_the_account_for_the_address_like_wrong_passwords(app: Authenticator) -> None:
    fail(2)
    # A correct password in between does not reset the count.
    guesses = [log_in(code=f"00000{number}") for number in range(LIMIT - 3)]
    assert log_in().status_code == 200
    guesses.append(log_in(code="000009"))

    assert [guess.status_code for guess in guesses] == [200] * (LIMIT - 3) + [429]
    assert "Too many failed logins" in guesses[-1].content.decode()
    code = app.code()
    assert log_in(code=code).status_code == 429
    assert log_in().status_code == 429
    assert AccessAttempt.objects.get().failures_since_start == LIMIT
    end_the_wait()
    assert is_logged_in(log_in(code=code, address=ELSEWHERE)), "the owner is locked out, or the code was used up"


def test_wrong_codes_from_very_many_addresses_delay_codes_but_not_recovery_codes(ada: User) -> None:
    app, codes = set_up(logged_in(ada))
    TOTPDevice.objects.update(throttling_failure_count=27)
    assert "This code is wrong" in log_in(code="000000", address="198.51.100.1").content.decode()

    code = app.code()
    assert "one of your recovery codes" in log_in(code=code).content.decode()
    assert is_logged_in(log_in(code=codes[0]))
    TOTPDevice.objects.update(throttling_failure_timestamp=timezone.now() - timedelta(days=4))

    assert is_logged_in(log_in(code=code)), "the wait did not end, or the code was used up"
    assert TOTPDevice.objects.get().throttling_failure_count == 0


# The page of one's own factor.


@pytest.fixture
def client(ada: User) -> Client:
    return logged_in(ada)


def events() -> list[tuple[str, str]]:
    entries = Event.objects.filter(kind="second_factor").order_by("pk")
    return list(entries.values_list("account_name", "message"))


# Setting up.


def test_staff_set_up_a_factor_with_a_qr_code_a_secret_and_one_code(client: Client, ada: User) -> None:
    page = client.get(SECOND_FACTOR)
    text = page.content.decode()
    assert re.search(r'<img src="data:image/svg\+xml', text)
    fields = fields_of(page, "set-up-form")

    wrong = client.post(SECOND_FACTOR, fields | {"code": "000000"})
    secret = re.search(r'id="secret">[^<]+', text)[0]
    assert "This code is wrong" in wrong.content.decode()
    assert secret in wrong.content.decode(), "another secret than the one that was scanned"
    assert not TOTPDevice.objects.filter(confirmed=True).exists()

    _, codes = set_up(client)
    assert len(set(codes)) == 10
    assert events() == [("ada", "Set up.")]
    assert client.get(INDEX).status_code == 200, "the session needs another code"
    digests = [hashlib.sha256(code.replace("-", "").encode()).digest() for code in codes]
    stored = {*StaticToken.objects.values_list("token", flat=True)}
    assert stored == {b32encode(digest).decode().lower()[:16] for digest in digests}


def test_recovery_codes_are_shown_once_and_no_second_factor_is_added(client: Client) -> None:
    fields = fields_of(client.get(SECOND_FACTOR), "set-up-form")
    set_up(client)

    again = client.post(SECOND_FACTOR, fields | {"code": "123456"}, follow=True)

    assert messages(again) == [
        "Nothing was changed: your second factor is set up already. Recovery codes are shown only once."
    ]
    assert not recovery_codes(again.content.decode())
    assert "You have 10 unused recovery codes." in again.content.decode()
    assert TOTPDevice.objects.count() == 1


def test_each_page_has_a_new_secret_and_its_code_does_not_log_in(client: Client) -> None:
    earlier = app_of(client.get(SECOND_FACTOR))
    app = app_of(client.get(SECOND_FACTOR))

    assert "This code is wrong" in client.post(SECOND_FACTOR, {"code": earlier.code()}).content.decode()
    code = app.code()
    assert recovery_codes(client.post(SECOND_FACTOR, {"code": code}).content.decode())
    assert TOTPDevice.objects.count() == 1
    assert "This code is wrong" in log_in(code=code).content.decode()


# Renewing and removing.


def test_renewing_the_codes_and_removing_the_factor_need_a_recent_code(client: Client, clock: Clock) -> None:
    app, old = set_up(client)

    def change(how: str) -> Any:
        clock.advance(16 * MINUTE)
        before = {*StaticToken.objects.values_list("token")}
        asked = client.post(SECOND_FACTOR, {how: "yes", "csrfmiddlewaretoken": "of a browser"})
        assert is_asked(asked)
        assert {*StaticToken.objects.values_list("token")} == before
        return send_again(client, log_in_again(client, asked, PASSWORD, app.code()))

    new = recovery_codes(change("renew").content.decode())
    assert len(set(new) - set(old)) == StaticToken.objects.count() == 10
    assert change("remove").status_code == 302

    shown = client.get(SECOND_FACTOR)
    assert messages(shown) == ["The second factor was removed. The next login needs only your password."]
    assert events() == [("ada", "Set up."), ("ada", "Recovery codes renewed."), ("ada", "Removed.")]
    assert (StaticToken.objects.count(), log_in().status_code) == (0, 302)
    clock.advance(16 * MINUTE)
    assert is_asked(client.get(SECOND_FACTOR)), "setting up needs no recent password"


# A lost device.


def test_an_administrator_resets_the_factor_of_another_account(ada: User, boss_client: Client, clock: Clock) -> None:
    with_factor(ada)
    url, account_page = page_of(ada, "reset-second-factor"), page_of(ada)
    assert url in boss_client.get(account_page).content.decode()
    clock.advance(16 * MINUTE)

    assert "only if ada has asked you in person" in boss_client.get(url).content.decode()
    asked = boss_client.post(url)
    assert (is_asked(asked), factors.is_set_up(ada)) == (True, True)
    assert log_in_again(boss_client, asked, PASSWORD)["Location"] == url
    done = boss_client.post(url, follow=True)

    assert messages(done) == ["The second factor of ada was reset. The next login needs only the password."]
    entry = Event.objects.get(kind="second_factor")
    record = entry.items.get().record_name
    assert (entry.account_name, record, entry.message) == ("boss", "ada", "Reset by an administrator.")
    assert (log_in().status_code, url in boss_client.get(account_page).content.decode()) == (302, False)


def test_administrators_change_their_own_factor_on_its_page(boss_client: Client, boss: User) -> None:
    set_up(boss_client)
    url = page_of(boss, "reset-second-factor")

    assert url not in boss_client.get(page_of(boss)).content.decode()
    for response in (boss_client.get(url, follow=True), boss_client.post(url, follow=True)):
        assert messages(response) == ["This is your own account. Use “Second factor” under your name."]
    assert factors.is_set_up(boss)


# The setting that requires a factor of some accounts or of all.


def test_the_setting_decides_of_whom_a_factor_is_required(settings: LazySettings, boss: User) -> None:
    people = {name: User.objects.create_user(name, is_staff=True) for name in ("pets", "keys", "viewer", "users")}
    people["pets"].groups.add(Group.objects.get(name="Pets and inventory"))
    people["keys"].groups.add(Group.objects.get(name="Pets, inventory and API keys"))
    # Only administrators change accounts, whatever permission someone has for users.
    for name, permission in [("viewer", "view_apikey"), ("users", "change_user")]:
        people[name].user_permissions.add(Permission.objects.get(codename=permission))

    everyone = people | {"boss": boss}
    for setting, required in {"off": [], "keys": ["keys", "boss"], "all": [*everyone]}.items():
        settings.SECOND_FACTOR = setting
        assert [name for name, user in everyone.items() if factors.is_required(user)] == required, setting


def test_without_a_factor_such_a_person_can_only_set_it_up(settings: LazySettings, boss_client: Client) -> None:
    settings.SECOND_FACTOR = "keys"
    urls = [INDEX, ADD, reverse("admin:apikeys_apikey_add"), reverse("admin:password_change"), "/admin/nothing/"]

    for url in urls:
        response = boss_client.get(url, follow=True)
        assert response.redirect_chain == [(f"{SECOND_FACTOR}?next={url}", 302)]
        assert "Set it up to continue." in response.content.decode()
        assert boss_client.post(url, {"name": "Rex"})["Location"].startswith(SECOND_FACTOR)

    _, codes = set_up(boss_client)
    assert len(codes) == 10
    assert [boss_client.get(url).status_code for url in urls] == [200, 200, 200, 200, 404]


def test_after_the_set_up_a_link_continues_where_the_person_was(settings: LazySettings, boss_client: Client) -> None:
    settings.SECOND_FACTOR = "all"
    set_up(boss_client)
    for target, link in [(ADD, ADD), ("https://evil.example/", INDEX), ("//evil.example", INDEX)]:
        codes = boss_client.post(f"{SECOND_FACTOR}?next={target}", {"renew": "yes"}).content.decode()
        assert f'<a class="button" href="{link}">I have saved the codes</a>' in codes


def test_a_reset_factor_must_be_set_up_again_in_running_sessions(settings: LazySettings, boss_client: Client) -> None:
    settings.SECOND_FACTOR = "all"
    set_up(boss_client)
    assert boss_client.get(INDEX).status_code == 200

    factors.devices().delete()

    assert boss_client.get(INDEX).status_code == 302
    assert boss_client.post(reverse("admin:logout")).status_code == 200
