import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpResponse
from django.test import Client, RequestFactory

from petservice import health
from tests.waiting import wait_until


def answer_without_a_database(get: Callable[[], HttpResponse]) -> HttpResponse:
    """What `get` returns in a thread whose database is not there."""
    answers = []

    def call() -> None:
        connection.settings_dict = connection.settings_dict | {"NAME": "no_such_folder/no_such_database"}
        try:
            answers.append(get())
        finally:
            connection.close()

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    return answers[0]


@pytest.mark.django_db
@pytest.mark.parametrize("host", ["testserver", "10.1.2.3", "unknown.example.com"])
def test_a_migrated_service_is_ready_whatever_the_host_and_without_a_key(client: Client, host: str) -> None:
    response = client.get("/ready", headers={"Host": host})

    assert (response.status_code, response.json()) == (200, {"status": "ok"})


@pytest.mark.django_db
def test_a_service_whose_database_lacks_migrations_is_not_ready(client: Client) -> None:
    newest = MigrationRecorder.Migration.objects.filter(app="store").latest("id")
    MigrationRecorder(connection).record_unapplied("store", newest.name)

    response = client.get("/ready")

    assert response.status_code == 503
    assert response.json() == {
        "error": {
            "code": "unavailable",
            "message": "The database lacks 1 migration(s): run `python manage.py migrate`.",
        }
    }


@pytest.mark.django_db(transaction=True)
def test_a_service_without_its_database_is_not_ready(client: Client) -> None:
    response = answer_without_a_database(lambda: client.get("/ready"))

    assert response.status_code == 503
    assert response.json() == {"error": {"code": "unavailable", "message": "The database does not answer."}}


@pytest.mark.django_db(transaction=True)
def test_a_service_without_its_database_is_healthy(client: Client) -> None:
    response = answer_without_a_database(lambda: client.get("/v1/health"))

    assert (response.status_code, response.json()) == (200, {"status": "ok"})


def test_a_change_of_readiness_is_logged_once_with_its_reason(
    client: Client, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "_INTERVAL", 0)
    caplog.set_level("INFO", logger="petservice.health")

    for answer in (1, 1, 0, 0, 2):
        monkeypatch.setattr(health, "missing_migrations", lambda answer=answer: answer)
        client.get("/ready")
    health.unavailable()  # as the server does while a look has not ended
    health.unavailable()

    assert [record.getMessage() for record in caplog.records if record.name == "petservice.health"] == [
        "Not ready: The database lacks 1 migration(s): run `python manage.py migrate`.",
        "Ready again.",
        "Not ready: The database lacks 2 migration(s): run `python manage.py migrate`.",
        "Not ready: The database does not answer.",
    ]


def test_requests_that_come_during_a_look_at_the_database_wait_for_its_result(
    rf: RequestFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks, is_over = [], threading.Event()

    def look() -> int:
        looks.append(threading.current_thread())
        is_over.wait(30)
        return 0

    monkeypatch.setattr(health, "missing_migrations", look)
    monkeypatch.setattr(health, "_INTERVAL", float("inf"))
    with ThreadPoolExecutor(4) as pool:
        answers = [pool.submit(health.ready, rf.get("/ready")) for _ in range(4)]
        wait_until(lambda: looks)
        is_over.set()

    assert [answer.result().status_code for answer in answers] == [200] * 4
    assert len(looks) == 1


def test_health_touches_no_database(client: Client) -> None:
    """pytest-django refuses every use of the database here."""
    response = client.get("/v1/health", headers={"X-API-Key": "whatever"})

    assert (response.status_code, response.json()) == (200, {"status": "ok"})


def test_only_reading_is_a_question_of_readiness(client: Client) -> None:
    response = client.post("/ready")

    assert (response.status_code, response.json()["error"]["code"]) == (404, "not_found")
