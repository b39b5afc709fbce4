"""The lockout after failed logins, and its page."""

import re
from datetime import timedelta
from io import StringIO

import pytest
from axes.models import AccessAttempt
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db.models import F
from django.http import HttpResponse
from django.utils import timezone

from tests.backoffice.login import ELSEWHERE, HERE, INDEX, LIMIT, PASSWORD, assert_staff_page, fail, log_in
from tests.concurrent_write import only_on_postgresql, write_before

pytestmark = [pytest.mark.django_db, pytest.mark.once, pytest.mark.usefixtures("ada")]


def is_logged_in(response: HttpResponse) -> bool:
    return (response.status_code, response.headers.get("Location")) == (302, INDEX)


def let_time_pass(time: timedelta) -> None:
    AccessAttempt.objects.update(attempt_time=F("attempt_time") - time)


# The lockout.


def test_the_sixth_attempt_is_rejected_even_with_the_correct_password() -> None:
    assert is_logged_in(log_in())
    assert fail(LIMIT - 1).status_code == 200

    assert fail(1).status_code == 429
    assert log_in().status_code == 429


def test_a_lockout_holds_for_one_account_from_one_address() -> None:
    User.objects.create_user("Ada", password=PASSWORD, is_staff=True)
    fail()

    assert is_logged_in(log_in(name="Ada"))
    assert is_logged_in(log_in(address=ELSEWHERE))
    assert log_in().status_code == 429


def test_a_lockout_ends_after_15_minutes() -> None:
    fail()

    let_time_pass(timedelta(minutes=14, seconds=50))
    assert log_in().status_code == 429

    let_time_pass(timedelta(seconds=10))
    assert is_logged_in(log_in())


def test_attempts_during_a_lockout_do_not_extend_it() -> None:
    fail()
    let_time_pass(timedelta(minutes=10))
    fail()
    let_time_pass(timedelta(minutes=5))

    assert is_logged_in(log_in())


def test_failures_older_than_15_minutes_do_not_count() -> None:
    fail(LIMIT - 1)
    let_time_pass(timedelta(minutes=15))

    assert fail(LIMIT - 1).status_code == 200


def test_a_fifth_attempt_after_four_failures_logs_in_and_resets_the_count() -> None:
    fail(LIMIT - 1)
    assert is_logged_in(log_in())

    assert fail(LIMIT - 1).status_code == 200
    assert AccessAttempt.objects.get().failures_since_start == LIMIT - 1


def test_attempts_from_different_browsers_are_counted_together() -> None:
    for number in range(LIMIT):
        fail(1, browser=f"Other/{number}")

    assert log_in().status_code == 429
    assert AccessAttempt.objects.count() == 1


def test_addresses_of_one_ipv6_network_are_counted_together() -> None:
    for number in range(LIMIT):
        fail(1, address=f"2001:db8:1:2::{number}")

    assert log_in(address="2001:db8:1:2:ffff::").status_code == 429
    assert is_logged_in(log_in(address="2001:db8:1:3::"))


def test_clients_without_an_address_are_counted_together() -> None:
    assert fail(address="").status_code == 429
    assert AccessAttempt.objects.get().ip_address == "0.0.0.0"
    assert is_logged_in(log_in())


@only_on_postgresql
@pytest.mark.django_db(transaction=True)
def test_simultaneous_failures_are_all_counted() -> None:
    for statement in ("INSERT INTO", "UPDATE"):
        with write_before(f'{statement} "axes_accessattempt"', lambda: fail(1)):
            fail(1)

    assert AccessAttempt.objects.get().failures_since_start == 4


def test_a_command_unlocks_an_account_for_all_addresses() -> None:
    User.objects.create_user("bob", password=PASSWORD, is_staff=True)
    pairs = [("ada", HERE), ("bob", HERE), ("ada", ELSEWHERE)]
    for name, address in pairs:
        fail(name=name, address=address)

    call_command("axes_reset_username", "ada", stdout=StringIO())

    assert [is_logged_in(log_in(name=name, address=address)) for name, address in pairs] == [True, False, True]


# The page of a lockout.


def test_the_lockout_page_says_when_to_try_again(settings: LazySettings) -> None:
    fail()
    let_time_pass(timedelta(minutes=3, seconds=30))

    response = log_in()

    end = AccessAttempt.objects.get().attempt_time + settings.AXES_COOLOFF_TIME + timedelta(seconds=1)
    when = f"Try again in 12 minutes, at {timezone.localtime(end):%H:%M:%S} UTC."
    assert_staff_page(response, 429, "Too many failed logins", when, "ask an administrator to unlock the account")
    assert 11 * 60 < int(response["Retry-After"]) <= 11.5 * 60 + 1
    let_time_pass(timedelta(minutes=11))
    assert "Try again in 1 minute, at " in log_in().content.decode()


def test_login_works_after_the_time_in_retry_after() -> None:
    wait = int(fail()["Retry-After"])

    let_time_pass(timedelta(seconds=wait))

    assert is_logged_in(log_in())


def test_the_lockout_page_writes_one_minute_in_the_singular() -> None:
    fail()
    let_time_pass(timedelta(minutes=14, seconds=30))

    assert "Try again in 1 minute, at " in log_in().content.decode()


def test_the_lockout_page_does_not_reveal_whether_the_account_exists_or_the_password_is_correct() -> None:
    fail(name="ada")
    fail(name="nobody")
    AccessAttempt.objects.update(attempt_time=timezone.now())

    known, right, unknown = log_in("guess"), log_in(), log_in(name="nobody")

    texts = [re.sub(r"\d\d:\d\d:\d\d", "", response.content.decode()) for response in (known, right, unknown)]
    assert texts[0] == texts[1] == texts[2]
    assert {response.status_code for response in (known, right, unknown)} == {429}
