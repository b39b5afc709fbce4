"""The second factor: logins with its code, the limits on guessing it, and its page."""

import hashlib
import re
from base64 import b32encode
from binascii import unhexlify
from datetime import timedelta
from typing import Any

import pytest
from axes.models import AccessAttempt
from django.contrib.auth.models import User
from django.test import Client, RequestFactory
from django.utils import timezone
from django_otp.plugins.otp_static.models import StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice, default_key

from petservice.journal.models import Event
from petservice.sign_in import factors
from tests.backoffice.clock import Clock
from tests.backoffice.login import ADD, ELSEWHERE, HERE, INDEX, LIMIT, LOGIN, fail, log_in
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


def test_an_app_that_was_not_confirmed_is_no_factor(ada: User) -> None:
    TOTPDevice.objects.create(user=ada, name="Authenticator app", confirmed=False)
    client = Client()

    assert log_in(client=client).status_code == 302
    app, _ = set_up(client)
    assert log_in(code=app.code()).status_code == 302


def test_a_login_needs_the_password_and_the_code(app: Authenticator) -> None:
    client = Client()
    page = log_in(client=client)
    assert "Enter the code of your second factor as well." in page.content.decode()
    assert client.get(ADD).status_code == 302, "the password alone logs in"

    assert "This code is wrong" in log_in(code="000000", client=client).content.decode()
    assert "sessionid" not in client.cookies
    code = app.code()
    assert "This code is wrong" not in log_in("wrong", code=code, client=client).content.decode()
    assert log_in(code=f" {code[:3]} {code[3:]}", client=client).status_code == 302, "the wrong password used it up"
    assert client.get("/admin/").status_code == 200
    assert Event.objects.filter(kind="second_factor").count() == 0, "a correct code is no event of its own"


def test_a_recovery_code_works_once_in_place_of_a_code_and_is_recorded(ada: User) -> None:
    ada.staticdevice_set.create(name="Backup Code")  # by django-otp's command addstatictoken
    _, codes = set_up(logged_in(ada))

    assert log_in(code=codes[3].upper()).status_code == 302
    assert log_in(code=codes[3]).status_code != 302
    assert log_in(code=codes[4].replace("-", " ")).status_code == 302
    entries = Event.objects.filter(kind="second_factor", message__startswith="Recovery code used")
    assert {(entry.account, entry.address) for entry in entries} == {(ada, HERE)}
    assert [entry.message[-7:] for entry in entries] == ["8 left.", "9 left."]


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
    key = default_key()
    code = Authenticator(unhexlify(key)).code()
    others: list[Any] = []

    def set_up_a_factor() -> Any:
        request = rf.get(LOGIN)
        request.user = User.objects.get(pk=ada.pk)
        return factors.set_up(request, key, code)

    with write_before('INSERT INTO "otp_totp_totpdevice"', lambda: others.append(set_up_a_factor())):
        assert set_up_a_factor()

    assert others == [None]
    assert StaticToken.objects.count() == factors.RECOVERY_CODES


# Limits on guessing.


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
    # Wrong codes delay the next one, for a few hundredths of a second here.
    TOTPDevice.objects.update(throttling_failure_timestamp=timezone.now() - MINUTE)
    assert log_in(code=code, address=ELSEWHERE).status_code == 302, "the owner is locked out, or the code was used up"


def test_wrong_codes_from_very_many_addresses_delay_codes_but_not_recovery_codes(ada: User) -> None:
    app, codes = set_up(logged_in(ada))
    TOTPDevice.objects.update(throttling_failure_count=27)
    assert "This code is wrong" in log_in(code="000000", address="198.51.100.1").content.decode()

    code = app.code()
    assert "one of your recovery codes" in log_in(code=code).content.decode()
    assert log_in(code=codes[0]).status_code == 302
    TOTPDevice.objects.update(throttling_failure_timestamp=timezone.now() - timedelta(days=4))

    assert log_in(code=code).status_code == 302, "the wait did not end, or the code was used up"
    assert TOTPDevice.objects.get().throttling_failure_count == 0


# The page of one's own factor.


@pytest.fixture
def client(ada: User) -> Client:
    return logged_in(ada)


def events() -> list[str]:
    entries = Event.objects.filter(kind="second_factor").order_by("pk")
    return [": ".join(one) for one in entries.values_list("account_name", "message")]


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
    assert not TOTPDevice.objects.exists()
    code = app_of(page).code()
    client.logout()
    client.force_login(ada)
    page = client.post(SECOND_FACTOR, fields | {"code": code})
    assert "or logged in again, scan the picture below first" in page.content.decode()
    assert secret not in page.content.decode()

    _, codes = set_up(client)
    assert len(set(codes)) == 10
    assert events() == ["ada: Second factor set up."]
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
    assert events() == ["ada: Second factor set up.", "ada: Recovery codes renewed.", "ada: Second factor removed."]
    assert (StaticToken.objects.count(), log_in().status_code) == (0, 302)
    clock.advance(16 * MINUTE)
    assert is_asked(client.get(SECOND_FACTOR)), "setting up needs no recent password"
