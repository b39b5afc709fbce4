"""The audit has one entry for each login and logout, and counts failed logins and lock-outs in few entries."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client, RequestFactory
from django.urls import reverse

from petservice.journal import logins
from petservice.journal.logins import add_event_of_failure
from petservice.journal.models import Event
from petservice.journal.retention import remove_old_events
from tests.backoffice.login import ELSEWHERE, HERE, INDEX, LIMIT, LOGIN, PASSWORD, fail, log_in
from tests.concurrent_write import only_on_postgresql, write_before
from tests.journal.events import create_event

# The clock, because two failures on both sides of the end of a quarter of an hour are two entries.
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("ada", "clock")]

KIND = Event.Kind
NOW = datetime.now(UTC).replace(hour=10, minute=7, second=0, microsecond=0)


def entries() -> list[tuple[str, str, str | None, int]]:
    return [*Event.objects.order_by("pk").values_list("kind", "account_name", "address", "count")]


def failure(name: str = "ada", address: str = HERE, minutes: int = 0) -> None:
    request = RequestFactory().get("/", REMOTE_ADDR=address)
    add_event_of_failure(request, KIND.LOGIN_FAILED, name, now=NOW + timedelta(minutes=minutes))


def test_a_login_and_a_logout_have_an_entry_each(ada: Any) -> None:
    client = Client(REMOTE_ADDR="127.0.0.1", HTTP_X_FORWARDED_FOR=HERE)  # behind a trusted proxy
    client.post(f"{LOGIN}?next={INDEX}", {"username": "ada", "password": PASSWORD})
    client.post(reverse("admin:logout"))

    assert entries() == [("login", "ada", HERE, 1), ("logout", "ada", HERE, 1)]
    assert {entry.account for entry in Event.objects.all()} == {ada}
    Client().post(reverse("admin:logout"))  # without a session
    assert len(entries()) == 2
    ada.delete()
    assert {*Event.objects.values_list("account", "account_name")} == {(None, "ada")}


def test_a_lock_out_has_one_entry_however_often_the_login_is_tried_again() -> None:
    fail(LIMIT + 3)
    log_in()

    assert entries() == [("login_failed", "ada", HERE, LIMIT), ("locked_out", "ada", HERE, 1)]


def test_a_failed_login_has_a_name_only_if_the_account_exists(caplog: pytest.LogCaptureFixture) -> None:
    fail(2, name="my secret password")
    fail(1, name="another secret", address="2001:db8::1")
    fail(1, name="another secret", address="2001:db8::2")

    # All addresses of an IPv6 network count together.
    assert entries() == [("login_failed", "", HERE, 2), ("login_failed", "", "2001:db8::", 2)]
    assert "secret" not in caplog.text + "".join(map(str, Event.objects.values()))


def test_failures_are_counted_by_quarter_hour_account_and_address(ada: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logins, "MAX_ENTRIES", 3)

    for name, address in (("ada", HERE), ("ada", HERE), ("ada", ELSEWHERE), ("x", HERE), ("y", HERE)):
        failure(name, address, 7)
    for address in ("192.0.2.20", "192.0.2.21", ELSEWHERE):  # more than the limit of entries
        failure("ada", address, 7)
    failure("ada", HERE, 8)

    assert entries() == [
        ("login_failed", "ada", HERE, 2),
        ("login_failed", "ada", ELSEWHERE, 2),
        ("login_failed", "", HERE, 2),
        ("login_failed", "", None, 2),
        ("login_failed", "ada", HERE, 1),
    ]
    first = Event.objects.earliest("pk")
    assert (first.at, first.message) == (NOW + timedelta(minutes=7), "The last one was at 10:14:00 UTC.")


@only_on_postgresql
def test_two_failures_of_an_account_at_the_same_time_are_counted_in_one_entry() -> None:
    with write_before('INSERT INTO "journal_event"', failure):
        failure()

    assert entries() == [("login_failed", "ada", HERE, 2)]


@pytest.mark.parametrize(("days", "kept"), [(730, ["new"]), (0, ["new", "old"])])
def test_a_login_removes_entries_that_are_too_old(ada: Any, settings: Any, days: int, kept: list[str]) -> None:
    settings.AUDIT_DAYS = days
    create_event(kind=KIND.EXPORTED, message="old", at=NOW - timedelta(days=4000))
    create_event(kind=KIND.EXPORTED, message="new", at=NOW)
    create_event(kind=KIND.CHANGED, at=NOW - timedelta(days=4000), record_id="7", address=HERE)

    log_in()

    found = Event.objects.filter(kind=KIND.EXPORTED).values_list("message", flat=True)
    assert sorted(found) == kept
    # The history of a record stays, but not the address of the person.
    assert Event.objects.get(kind=KIND.CHANGED).address == (None if days else HERE)


def test_only_some_old_entries_are_removed_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("petservice.journal.retention.MAX_REMOVED", 2)
    for days in (3, 1, 2):
        Event.objects.create(kind=KIND.LOGOUT, count=days, at=NOW - timedelta(days=1000 + days))

    remove_old_events(NOW)

    assert [entry.count for entry in Event.objects.all()] == [1]
