"""The lockout after failed logins, also behind a proxy, its page, and the data of a login that is stored and logged."""

import re
from datetime import timedelta

import pytest
from axes.models import AccessAttempt
from django.conf import LazySettings
from django.db import connection
from django.db.models import F
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from tests.backoffice.login import HERE, LIMIT, PASSWORD, assert_staff_page, fail, log_in
from tests.concurrent_write import only_on_postgresql, write_before

# PostgreSQL rejects more values than SQLite.
pytestmark = [pytest.mark.django_db, pytest.mark.once(on="postgresql"), pytest.mark.usefixtures("ada")]


def let_time_pass(time: timedelta) -> None:
    AccessAttempt.objects.update(attempt_time=F("attempt_time") - time)


# The lockout.


@pytest.mark.parametrize(
    ("attempts", "status"),
    [
        pytest.param([(LIMIT, 14)], 429, id="not before 15 minutes"),
        pytest.param([(LIMIT, 15)], 302, id="after 15 minutes"),
        pytest.param([(LIMIT, 10), (LIMIT, 5)], 302, id="attempts during a lockout do not extend it"),
        pytest.param([(LIMIT - 1, 15), (LIMIT - 1, 0)], 302, id="failures older than 15 minutes do not count"),
    ],
)
def test_a_lockout_ends_after_15_minutes(attempts: list[tuple[int, int]], status: int) -> None:
    for failures, minutes in attempts:
        fail(failures)
        let_time_pass(timedelta(minutes=minutes))

    assert log_in().status_code == status


def test_a_fifth_attempt_after_four_failures_logs_in_resets_the_count_and_leaves_no_record() -> None:
    fail(LIMIT - 1)
    assert log_in().status_code == 302

    for model in ("accessattempt", "accesslog", "accessfailurelog", "accessattemptexpiration"):
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT count(*) FROM axes_{model}")
            assert cursor.fetchone() == (0,)
    assert fail(LIMIT - 1).status_code == 200
    assert AccessAttempt.objects.get().failures_since_start == LIMIT - 1


def test_attempts_of_one_network_are_counted_together_whatever_the_browser_and_the_forged_address() -> None:
    def log_in_behind_a_proxy(forwarded_for: str, password: str = PASSWORD, browser: str = "Any/1") -> HttpResponse:
        proxied = {"REMOTE_ADDR": "127.0.0.1", "HTTP_X_FORWARDED_FOR": forwarded_for, "HTTP_USER_AGENT": browser}
        return log_in(password, client=Client(**proxied))

    for number in range(LIMIT):
        forged_first = f"203.0.113.{number}, 2001:db8:1:2::{number}"
        log_in_behind_a_proxy(forged_first, f"guess {number}", f"Other/{number}")

    assert AccessAttempt.objects.values_list("ip_address", "failures_since_start").get() == ("2001:db8:1:2::", LIMIT)
    assert log_in_behind_a_proxy("203.0.113.99, 2001:db8:1:2:ffff::").status_code == 429
    assert log_in_behind_a_proxy("2001:db8:1:2::1, 2001:db8:1:3::").status_code == 302


def test_clients_without_an_address_are_counted_together() -> None:
    assert fail(address="").status_code == 429
    assert AccessAttempt.objects.get().ip_address == "0.0.0.0"
    assert log_in().status_code == 302


@only_on_postgresql
def test_simultaneous_failures_are_all_counted() -> None:
    for statement in ("INSERT INTO", "UPDATE"):
        with write_before(f'{statement} "axes_accessattempt"', lambda: fail(1)):
            fail(1)

    assert AccessAttempt.objects.get().failures_since_start == 4


def test_the_cookies_of_a_login_are_kept_from_scripts_and_from_plain_http(settings: LazySettings) -> None:
    settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = True

    cookies = log_in().cookies

    assert {*cookies} == {"sessionid", "csrftoken", "last_account"}
    for cookie in cookies.values():
        assert (cookie["secure"], cookie["httponly"], cookie["samesite"]) == (True, True, "Lax"), cookie


# The page of a lockout.


def test_the_lockout_page_says_when_to_try_again(settings: LazySettings) -> None:
    fail()
    let_time_pass(timedelta(minutes=3, seconds=30))

    response = log_in()

    end = AccessAttempt.objects.get().attempt_time + settings.AXES_COOLOFF_TIME + timedelta(seconds=1)
    when = f"Try again at {timezone.localtime(end):%H:%M:%S} UTC."
    assert_staff_page(response, 429, "Too many failed logins", when, "ask an administrator to unlock the account")
    assert 11 * 60 < int(response["Retry-After"]) <= 11.5 * 60 + 1
    let_time_pass(timedelta(seconds=int(response["Retry-After"])))
    assert log_in().status_code == 302


def test_the_lockout_page_does_not_reveal_whether_the_account_exists_or_the_password_is_correct() -> None:
    fail(name="ada")
    fail(name="nobody")
    AccessAttempt.objects.update(attempt_time=timezone.now())

    known, right, unknown = log_in("guess"), log_in(), log_in(name="nobody")

    texts = [re.sub(r"\d\d:\d\d:\d\d", "", response.content.decode()) for response in (known, right, unknown)]
    assert texts[0] == texts[1] == texts[2]
    assert {response.status_code for response in (known, right, unknown)} == {429}


# What is stored and logged.


def test_only_the_user_name_of_a_login_is_stored_and_nothing_of_it_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", logger="petservice"):
        for _ in range(LIMIT + 1):
            log_in("Tr0ub4dor&3", passwd="s3cret too", csrfmiddlewaretoken="t0ken" * 8, next="/admin/?q=k3y")

    stored = str([*AccessAttempt.objects.values()])
    assert "'username': 'ada'" in stored
    for secret in ("Tr0ub4dor", "s3cret", "t0ken", "k3y"):
        assert secret not in stored + caplog.text
    assert "ada" not in caplog.text, "the log contains the name, which may be a password in the wrong field"
    assert "Locking out" in caplog.text
    assert HERE in caplog.text


def test_the_login_form_rejects_an_invalid_name() -> None:
    for name, sentence in (
        ("x" * 10_000, "Ensure this value has at most 150 characters"),
        ("ﷺ" * 150, "Ensure this value has at most 150 characters"),  # normalising makes 18 characters of each
        ("a\0da", "Null characters are not allowed."),
        ("", "This field is required."),
    ):
        response = log_in(name=name)

        assert response.status_code == 200
        assert sentence in response.content.decode()
    assert not AccessAttempt.objects.exists()
