"""The data of a login that is stored and logged, and login forms that are rejected."""

import pytest
from axes.models import AccessAttempt
from django.db import connection
from django.test import Client

from petservice.monitoring.logs import RequestIDFilter
from tests.backoffice.login import HERE, LIMIT, LOGIN, assert_staff_page, fail, log_in

# PostgreSQL rejects more values than SQLite.
pytestmark = [pytest.mark.django_db, pytest.mark.once(on="postgresql"), pytest.mark.usefixtures("ada")]


def stored() -> str:
    return str(list(AccessAttempt.objects.values()))


def test_only_the_user_name_of_a_login_is_stored_and_nothing_of_it_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.handler.addFilter(RequestIDFilter())
    with caplog.at_level("INFO", logger="petservice"):
        for _ in range(LIMIT + 1):
            log_in("Tr0ub4dor&3", passwd="s3cret too", csrfmiddlewaretoken="t0ken" * 8, next="/admin/?q=k3y")

    assert "'username': 'ada'" in stored()
    for secret in ("Tr0ub4dor", "s3cret", "t0ken", "k3y"):
        assert secret not in stored() + caplog.text
    assert "ada" not in caplog.text, "the log contains the name, which may be a password in the wrong field"
    assert "Locking out" in caplog.text
    assert HERE in caplog.text


def test_a_successful_login_leaves_no_record() -> None:
    fail(1)
    log_in()

    for model in ("accessattempt", "accesslog", "accessfailurelog", "accessattemptexpiration"):
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT count(*) FROM axes_{model}")
            assert cursor.fetchone() == (0,)


@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", "ada\n2026-01-01 CRITICAL all is lost", "%s {0} $x", "狗🐶"]
)
def test_attempts_with_an_unusual_name_are_counted(name: str, caplog: pytest.LogCaptureFixture) -> None:
    responses = [log_in(name=name) for _ in range(LIMIT)]

    assert [response.status_code for response in responses] == [200] * (LIMIT - 1) + [429]
    assert "<script>alert" not in "".join(response.content.decode() for response in responses)
    assert AccessAttempt.objects.get().username == name
    assert not any("\n" in record.getMessage() for record in caplog.records)


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


def test_a_form_that_is_not_utf_8_is_rejected() -> None:
    body = '--x\r\nContent-Disposition: form-data; name="{}"\r\n\r\n\\ud800\r\n'
    form = "".join(body.format(name) for name in ("username", "password")) + "--x--\r\n"

    response = Client(raise_request_exception=False).post(
        LOGIN, form.encode(), content_type="multipart/form-data; boundary=x; charset=raw_unicode_escape"
    )

    assert_staff_page(response, 400, "The request could not be processed")
