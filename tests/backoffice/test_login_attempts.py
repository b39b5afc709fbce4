"""What is stored and logged of a login, and login forms that are rejected."""

import pytest
from axes.models import AccessAttempt
from django.db import connection
from django.test import Client

from petservice.monitoring.logs import RequestIDFilter
from tests.backoffice.login import HERE, LIMIT, LOGIN, assert_staff_page, fail, log_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("ada")]


def stored() -> str:
    return str(list(AccessAttempt.objects.values()))


def test_nothing_that_was_typed_is_kept_or_logged_save_the_name(caplog: pytest.LogCaptureFixture) -> None:
    caplog.handler.addFilter(RequestIDFilter())
    with caplog.at_level("INFO", logger="petservice"):
        for _ in range(LIMIT + 1):
            log_in("Tr0ub4dor&3", passwd="s3cret too", csrfmiddlewaretoken="t0ken" * 8, next="/admin/?q=k3y")

    assert "'username': 'ada'" in stored()
    for secret in ("Tr0ub4dor", "s3cret", "t0ken", "k3y"):
        assert secret not in stored() + caplog.text
    assert "ada" not in caplog.text, "a name may be a password in the wrong field"
    assert "Locking out" in caplog.text
    assert HERE in caplog.text


def test_a_success_and_the_way_to_it_leave_no_record() -> None:
    fail(1)
    log_in()

    for model in ("accessattempt", "accesslog", "accessfailurelog", "accessattemptexpiration"):
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT count(*) FROM axes_{model}")
            assert cursor.fetchone() == (0,)


@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", "ada\n2026-01-01 CRITICAL all is lost", "%s {0} $x", "狗🐶"]
)
def test_an_odd_name_is_counted_like_any_other(name: str, caplog: pytest.LogCaptureFixture) -> None:
    answers = [log_in(name=name) for _ in range(LIMIT)]

    assert [answer.status_code for answer in answers] == [200] * (LIMIT - 1) + [429]
    assert "<script>alert" not in "".join(answer.content.decode() for answer in answers)
    assert AccessAttempt.objects.get().username == name
    assert not any("\n" in record.getMessage() for record in caplog.records)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("x" * 10_000, "No account has a name of more than 150 characters."),
        ("ﷺ" * 150, "No account has a name of more than 150 characters."),  # one of these is 18 when normalised
        ("a\0da", "Null characters are not allowed."),
        ("", "This field is required."),
    ],
    ids=["long", "longer than it looks", "NUL", "empty"],
)
def test_a_name_that_no_account_has_is_refused_by_the_form(name: str, sentence: str) -> None:
    response = log_in(name=name)

    assert response.status_code == 200
    assert sentence in response.content.decode()
    assert not AccessAttempt.objects.exists()


def test_a_form_that_is_not_in_utf_8_is_refused() -> None:
    body = '--x\r\nContent-Disposition: form-data; name="{}"\r\n\r\n\\ud800\r\n'
    form = "".join(body.format(name) for name in ("username", "password")) + "--x--\r\n"

    response = Client(raise_request_exception=False).post(
        LOGIN, form.encode(), content_type="multipart/form-data; boundary=x; charset=raw_unicode_escape"
    )

    assert_staff_page(response, 400, "This cannot be read")
