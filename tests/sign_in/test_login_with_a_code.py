"""Logins of accounts with a second factor: the password and the code together."""

from datetime import timedelta
from typing import Any

import pytest
from axes.models import AccessAttempt
from django.contrib.auth.models import User
from django.test import Client, RequestFactory
from django.utils import timezone
from django_otp.plugins.otp_static.models import StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

from petservice.journal.models import Event
from petservice.sign_in import factors
from tests.backoffice.login import ADD, ELSEWHERE, HERE, LIMIT, LOGIN, fail, is_logged_in, log_in
from tests.backoffice.staff import logged_in
from tests.concurrent_write import only_on_postgresql, write_before
from tests.sign_in.authenticator import Authenticator, set_up, with_factor

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
