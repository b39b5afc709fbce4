"""Logins of accounts with a second factor: the password first, then the code."""

from base64 import b32decode
from typing import Any

import pytest
from axes.models import AccessAttempt
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.utils import timezone
from django_otp.plugins.otp_totp.models import TOTPDevice

from petservice.journal.models import Event
from petservice.sign_in import factors, login_view
from tests.backoffice.login import ADD, ELSEWHERE, HERE, LIMIT, LOGIN, PASSWORD, fail, log_in
from tests.backoffice.pages import fields_of
from tests.backoffice.staff import logged_in
from tests.concurrent_write import only_on_postgresql, write_before
from tests.sign_in.authenticator import Authenticator, set_up, with_factor

# PostgreSQL ends a transaction after an error, which SQLite does not.
pytestmark = pytest.mark.once(on="postgresql")


@pytest.fixture
def app(ada: User) -> Authenticator:
    return with_factor(ada)


def enter_password(address: str = HERE, password: str = PASSWORD, **sent: str) -> tuple[Client, Any]:
    client = Client(REMOTE_ADDR=address)
    return client, client.post(f"{LOGIN}?next={ADD}", {"username": "ada", "password": password, **sent})


def enter_code(client: Client, page: Any, code: str) -> Any:
    return client.post(f"{LOGIN}?next={ADD}", fields_of(page, "code-form") | {"code": code})


def log_in_with(code: str, address: str = HERE) -> Any:
    client, page = enter_password(address)
    return enter_code(client, page, code)


def is_logged_in(response: HttpResponse) -> bool:
    return response.status_code == 302 and response["Location"] == ADD


def test_login_asks_for_the_code_after_the_password_and_continues_at_the_page(app: Authenticator) -> None:
    client, page = enter_password()
    assert (page.status_code, "sessionid" in client.cookies) == (200, False)
    assert "no-store" in page["Cache-Control"]
    assert client.get(ADD).status_code == 302, "the password alone logs in"

    wrong = enter_code(client, page, "000000")
    assert "This code is wrong" in wrong.content.decode()
    assert "sessionid" not in client.cookies
    code = app.code()
    assert is_logged_in(enter_code(client, wrong, f" {code[:3]} {code[3:]}"))
    assert client.get("/admin/").status_code == 200
    assert Event.objects.filter(kind="second_factor").count() == 0, "a correct code is no event of its own"


def test_a_code_works_once(app: Authenticator) -> None:
    code = app.code()

    assert is_logged_in(log_in_with(code))
    assert not is_logged_in(log_in_with(code))
    assert is_logged_in(log_in_with(app.code()))


def test_a_recovery_code_works_once_in_place_of_a_code_and_is_recorded(ada: User) -> None:
    _, codes = set_up(logged_in(ada))

    assert is_logged_in(log_in_with(codes[3].upper()))
    assert not is_logged_in(log_in_with(codes[3]))
    assert is_logged_in(log_in_with(codes[4].replace("-", " ")))
    entries = Event.objects.filter(kind="second_factor", message__startswith="Recovery code used")
    assert [(entry.account, entry.address, entry.message[-7:]) for entry in entries] == [
        (ada, HERE, "8 left."),
        (ada, HERE, "9 left."),
    ]


@pytest.mark.usefixtures("app")
def test_any_other_text_is_a_wrong_code() -> None:
    for number, code in enumerate(("", "12345", "1234567", "٠٠٠٠٠٠", "-00001", "+12345", "x" * 5000, "\0")):
        response = log_in_with(code, f"198.51.100.{number}")

        assert (response.status_code, "This code is wrong" in response.content.decode()) == (200, True), code


@only_on_postgresql
@pytest.mark.django_db(transaction=True)
def test_a_code_that_is_sent_again_while_it_is_accepted_works_once(ada: User, rf: RequestFactory) -> None:
    code = with_factor(ada).code()
    again: list[Any] = []

    with write_before(
        'UPDATE "otp_totp_totpdevice"', lambda: again.append(factors.accepting_device(rf.get(LOGIN), ada, code))
    ):
        assert factors.accepting_device(rf.get(LOGIN), ada, code)

    assert again == [None]


@only_on_postgresql
@pytest.mark.django_db(transaction=True)
def test_two_factors_of_an_account_cannot_be_set_up_at_the_same_time(ada: User, rf: RequestFactory) -> None:
    def set_up_a_factor() -> Any:
        request = rf.get(LOGIN)
        request.user = User.objects.get(pk=ada.pk)
        secret = factors.new_secret()
        return factors.set_up(request, secret, Authenticator(b32decode(secret)).code())

    with write_before('INSERT INTO "otp_totp_totpdevice"', set_up_a_factor):
        assert set_up_a_factor()

    assert TOTPDevice.objects.count() == 1


# The end of the second step.


def test_the_second_step_ends_when_the_password_or_the_account_changes(ada: User, app: Authenticator) -> None:
    client, page = enter_password()
    ada.set_password("another long one")
    ada.save()
    assert "Log in again" in enter_code(client, page, app.code()).content.decode()

    client, page = enter_password(password="another long one")
    User.objects.update(is_active=False)
    assert "Log in again" in enter_code(client, page, app.code()).content.decode()


def test_the_second_step_ends_after_ten_minutes_and_accepts_no_forgery(
    app: Authenticator, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, page = enter_password()
    forged = client.post(LOGIN, {"password_checked": "1:abc:def", "code": app.code()})
    assert "Log in again" in forged.content.decode()
    monkeypatch.setattr(login_view, "_CODE_MAX_AGE", -1)

    late = enter_code(client, page, app.code())
    assert "Log in again" in late.content.decode()
    assert '<form method="post" id="login-form">' in late.content.decode()  # to the URL that names the next page


# Limits on guessing.


def test_wrong_codes_lock_the_account_for_the_address_like_wrong_passwords(app: Authenticator) -> None:
    fail(2)
    # A correct password in between does not reset the count.
    guesses = [enter_code(*enter_password(), f"00000{number}") for number in range(LIMIT - 3)]
    client, page = enter_password()
    guesses.append(enter_code(client, page, "000009"))

    assert [guess.status_code for guess in guesses] == [200] * (LIMIT - 3) + [429]
    assert "Too many failed logins" in guesses[-1].content.decode()
    code = app.code()
    assert enter_code(client, page, code).status_code == 429
    assert log_in().status_code == 429
    assert AccessAttempt.objects.get().failures_since_start == LIMIT
    assert is_logged_in(log_in_with(code, ELSEWHERE)), "the owner is locked out elsewhere, or the code was used up"


def test_wrong_codes_from_elsewhere_do_not_lock_out_the_owner(app: Authenticator) -> None:
    for number in range(LIMIT + 1):
        log_in_with("000000", f"198.51.100.{number}")

    assert TOTPDevice.objects.get().throttling_failure_count == LIMIT + 1
    assert is_logged_in(log_in_with(app.code()))


def test_wrong_codes_from_very_many_addresses_pause_codes_but_not_recovery_codes(ada: User) -> None:
    app, codes = set_up(logged_in(ada))
    TOTPDevice.objects.update(throttling_failure_count=factors.MAX_WRONG_CODES - 2)
    assert "This code is wrong" in log_in_with("000000", "198.51.100.1").content.decode()

    paused = log_in_with("000000", "198.51.100.2").content.decode()
    assert "Enter a recovery code, and tell an administrator" in paused
    code = app.code()
    assert not is_logged_in(log_in_with(code))
    assert is_logged_in(log_in_with(codes[0]))
    TOTPDevice.objects.update(throttling_failure_timestamp=timezone.now() - factors.PAUSE)

    assert is_logged_in(log_in_with(code)), "the pause did not end, or the code was used up"
    assert TOTPDevice.objects.get().throttling_failure_count == 0
