import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from unittest.mock import patch

import pytest
from django.db import OperationalError, connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from petservice.apikeys import keys, usage
from petservice.apikeys.models import APIKey
from tests.waiting import wait_until

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)


def last_used_at() -> datetime | None:
    return APIKey.objects.values_list("last_used_at", flat=True).get()


def use(plain: str, now: datetime) -> None:
    """A request with the key, which comes at `now`."""
    with patch.object(timezone, "now", lambda: now):
        assert Client().get("/v1/pets", headers={"X-API-Key": plain}).status_code == 200


@pytest.mark.django_db
def test_a_request_marks_its_key_as_used(create_key: Callable[..., str]) -> None:
    before = timezone.now()

    assert Client().get("/v1/pets", headers={"X-API-Key": create_key()}).status_code == 200

    assert before <= last_used_at() <= timezone.now()


@pytest.mark.django_db
def test_a_second_request_within_a_minute_writes_nothing(api: Client) -> None:
    api.get("/v1/pets")
    first = last_used_at()

    with CaptureQueriesContext(connection) as queries:
        api.get("/v1/pets")

    assert [query["sql"] for query in queries if not query["sql"].startswith("SELECT")] == []
    assert last_used_at() == first


@pytest.mark.django_db
def test_a_use_is_written_at_most_once_a_minute(create_key: Callable[..., str]) -> None:
    plain = create_key()

    for seconds, written in ((0, 0), (1, 0), (59, 0), (60, 60), (61, 60), (119, 60), (120, 120)):
        use(plain, NOW + seconds * SECOND)
        assert last_used_at() == NOW + written * SECOND


@pytest.mark.django_db
@pytest.mark.parametrize("difference", [SECOND, -timedelta(hours=1)], ids=["a second later", "an hour earlier"])
def test_of_two_requests_that_know_of_no_use_the_first_is_written(difference: timedelta) -> None:
    api_key, _ = APIKey.objects.create_key(name="Acme")

    usage.record_use(api_key.pk, NOW)
    usage.record_use(api_key.pk, NOW + difference)

    assert last_used_at() == NOW


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="a connection to SQLite cannot be lost")
def test_a_use_that_cannot_be_recorded_fails_no_request(caplog: pytest.LogCaptureFixture) -> None:
    api_key, _ = APIKey.objects.create_key(name="Acme")
    with suppress(OperationalError), connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    usage.record_use(api_key.pk, NOW)

    assert f"The last use of API key {api_key.pk} was not recorded" in caplog.text
    usage.record_use(api_key.pk, NOW)
    assert last_used_at() == NOW, "the connection has been replaced"


@pytest.mark.django_db
@pytest.mark.parametrize(
    "fields", [{"revoked_at": NOW}, {"expires_at": NOW}, {"environment": "live"}], ids=lambda fields: next(iter(fields))
)
def test_a_refused_key_is_not_marked_as_used(client: Client, fields: dict[str, object]) -> None:
    _, plain = APIKey.objects.create_key(name="Acme", **fields)

    assert client.get("/v1/pets", headers={"X-API-Key": plain}).status_code in (401, 403)

    assert last_used_at() is None


@pytest.mark.django_db
def test_a_guess_with_the_prefix_of_a_key_does_not_mark_it_as_used(client: Client) -> None:
    _, plain = APIKey.objects.create_key(name="Acme")
    head = plain[:18] + "0" * 35

    response = client.get("/v1/pets", headers={"X-API-Key": head + keys.checksum(head)})

    assert response.status_code == 401
    assert last_used_at() is None


@pytest.mark.django_db
def test_what_a_read_only_key_may_not_do_is_a_use_nonetheless(client: Client) -> None:
    _, plain = APIKey.objects.create_key(name="Acme", access="read")

    response = client.post("/v1/pets", {"name": "Rex"}, "application/json", headers={"X-API-Key": plain})

    assert response.status_code == 403
    assert last_used_at() is not None


@pytest.mark.django_db(transaction=True)
def test_a_held_lock_neither_delays_nor_fails_a_request(
    create_key: Callable[..., str], caplog: pytest.LogCaptureFixture
) -> None:
    plain = create_key()
    caplog.set_level(logging.ERROR)
    statuses: list[int] = []

    def call() -> None:
        try:
            statuses.append(Client().get("/v1/pets", headers={"X-API-Key": plain}).status_code)
        finally:
            connection.close()

    request = threading.Thread(target=call)
    # On SQLite a transaction begins as the only writer of the database; on PostgreSQL the row is locked.
    with transaction.atomic():
        APIKey.objects.select_for_update().get()
        request.start()
        # Within less than the time that a writer queues (5 seconds), and while the lock is held.
        wait_until(lambda: not request.is_alive(), seconds=4)
    assert statuses == [200]
    assert last_used_at() is None
    assert caplog.records == []

    call()

    assert statuses == [200, 200]
    assert last_used_at() is not None


@pytest.mark.django_db(transaction=True)
def test_writers_queue_as_before_once_a_use_was_written(create_key: Callable[..., str]) -> None:
    def timeout() -> object:
        with connection.cursor() as cursor:
            cursor.execute({"sqlite": "PRAGMA busy_timeout", "postgresql": "SHOW lock_timeout"}[connection.vendor])
            return cursor.fetchone()

    before = timeout()
    use(APIKey.objects.create_key(name="Acme")[1], NOW)

    assert last_used_at() == NOW
    assert timeout() == before
