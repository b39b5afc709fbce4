"""/ready reports whether the database is available and has all migrations."""

import threading
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import Mock

import pytest
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client

from petservice.api import readiness
from petservice.db.pending_migrations import pending_migrations
from petservice.monitoring.logs import RefusalFilter
from tests.waiting import wait_until


@pytest.mark.django_db
def test_migrations_that_the_database_lacks_count_and_those_of_a_later_version_do_not() -> None:
    recorder = MigrationRecorder(connection)
    recorder.record_applied("pets", "0999_later")
    assert pending_migrations() == 0
    recorder.record_unapplied("store", MigrationRecorder.Migration.objects.filter(app="store").latest("id").name)
    assert pending_migrations() == 1


def test_a_change_of_readiness_is_logged_once_with_its_reason(
    client: Client, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readiness, "_INTERVAL", 0)
    caplog.set_level("INFO", logger="petservice.api.readiness")

    missing = Mock(side_effect=[1, 1, 0, 0, 2, *[OperationalError("disk full")] * 2])
    monkeypatch.setattr(readiness, "pending_migrations", missing)

    statuses = [client.get("/ready").status_code for _ in range(7)]

    assert statuses == [503, 503, 200, 200, 503, 503, 503]

    assert [record.getMessage() for record in caplog.records if RefusalFilter().filter(record)] == [
        "Not ready: The database lacks 1 migration(s): run the command `migrate`.",
        "Ready again.",
        "Not ready: The database lacks 2 migration(s): run the command `migrate`.",
        "The check of the database failed: disk full",
        "Not ready: The database does not answer.",
    ]


@pytest.mark.django_db
@pytest.mark.skipif("connection.vendor != 'sqlite'", reason="PostgreSQL has no file of the service")
def test_a_database_whose_file_was_deleted_is_not_ready(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    assert client.get("/ready").status_code == 200  # and opens a connection, which stays
    monkeypatch.setattr(readiness, "_INTERVAL", 0)
    monkeypatch.setitem(connection.settings_dict, "NAME", "/no/such/file")

    (error,) = client.get("/ready").json().values()
    assert error["message"] == "The file of the database was moved or deleted."


def test_no_request_uses_a_database_without_migrations_while_the_first_check_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    checks, is_over = [], threading.Event()

    def check() -> int:
        checks.append(threading.current_thread())
        is_over.wait(30)
        return 1

    monkeypatch.setattr(readiness, "pending_migrations", check)
    monkeypatch.setattr(readiness, "_INTERVAL", float("inf"))
    monkeypatch.setattr(readiness.readiness, "pending_migrations", None)
    with ThreadPoolExecutor(4) as pool:
        results = [pool.submit(readiness.readiness.has_pending_migrations) for _ in range(4)]
        wait_until(lambda: checks)
        is_over.set()

    assert len(checks) == 1
    assert [result.result() for result in results] == [True] * 4


def test_health_does_not_use_the_database(client: Client) -> None:
    with pytest.raises(RuntimeError, match="Database access not allowed"):  # in tests that do not ask for it
        pending_migrations()
    response = client.get("/v1/health", headers={"X-API-Key": "any"})

    assert (response.status_code, response.json()) == (200, {"status": "ok"})
