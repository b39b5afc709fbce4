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
    """Send a request with the key at this time."""
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
def test_the_first_of_two_simultaneous_uses_is_recorded(difference: timedelta) -> None:
    api_key, _ = APIKey.objects.create_key(name="Acme")

    usage.record_use(api_key.pk, NOW)
    usage.record_use(api_key.pk, NOW + difference)

    assert last_used_at() == NOW


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="a connection to SQLite cannot be lost")
def test_a_request_succeeds_if_the_use_of_its_key_cannot_be_recorded(caplog: pytest.LogCaptureFixture) -> None:
    api_key, _ = APIKey.objects.create_key(name="Acme")
    with suppress(OperationalError), connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    usage.record_use(api_key.pk, NOW)

    assert f"The last use of API key {api_key.pk} was not recorded" in caplog.text
    usage.record_use(api_key.pk, NOW)
    assert last_used_at() == NOW, "the connection was not replaced"


@pytest.mark.django_db
@pytest.mark.parametrize(
    "fields", [{"revoked_at": NOW}, {"expires_at": NOW}, {"environment": "live"}], ids=lambda fields: next(iter(fields))
)
def test_a_rejected_key_is_not_marked_as_used(client: Client, fields: dict[str, object]) -> None:
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
def test_a_forbidden_request_of_a_read_only_key_is_recorded_as_use(client: Client) -> None:
    _, plain = APIKey.objects.create_key(name="Acme", access="read")

    response = client.post("/v1/pets", {"name": "Rex"}, "application/json", headers={"X-API-Key": plain})

    assert response.status_code == 403
    assert last_used_at() is not None


@pytest.mark.django_db(transaction=True)
def test_a_request_does_not_wait_for_a_lock_on_its_key(
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
    # On SQLite the transaction locks the database, on PostgreSQL it locks the row.
    with transaction.atomic():
        APIKey.objects.select_for_update().get()
        request.start()
        # The request ends while the lock is held, and earlier than the lock timeout of 5 seconds.
        wait_until(lambda: not request.is_alive(), seconds=4)
    assert statuses == [200]
    assert last_used_at() is None
    assert caplog.records == []

    call()

    assert statuses == [200, 200]
    assert last_used_at() is not None


@pytest.mark.django_db(transaction=True)
def test_recording_a_use_keeps_the_lock_timeout_of_the_connection(create_key: Callable[..., str]) -> None:
    def timeout() -> object:
        with connection.cursor() as cursor:
            cursor.execute({"sqlite": "PRAGMA busy_timeout", "postgresql": "SHOW lock_timeout"}[connection.vendor])
            return cursor.fetchone()

    before = timeout()
    use(APIKey.objects.create_key(name="Acme")[1], NOW)

    assert last_used_at() == NOW
    assert timeout() == before
