"""The use of API keys: what is counted, and how it gets into the database."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from django.db import OperationalError, connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from petservice.apikeys import keys, usage
from petservice.apikeys.models import USAGE_DAYS, APIKey, KeyDay
from petservice.apikeys.usage import UsageRecorder
from tests.concurrent_write import only_on_postgresql, write_before
from tests.contract.seed import new_keys, seed
from tests.databases import migrated_database_url
from tests.service import GUNICORN, SERVE, running_service
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
COUNTED = "SELECT sum(requests), sum(client_errors), sum(server_errors) FROM apikeys_keyday"
LAST_USED = "SELECT last_used_at IS NOT NULL, last_used_address FROM apikeys_apikey WHERE prefix = %s"
SECOND = timedelta(seconds=1)
DAY = timedelta(days=1)


def days() -> dict[date, tuple[int, int, int]]:
    """Return the stored numbers by day: requests, client errors and server errors."""
    rows = KeyDay.objects.values_list("day", "requests", "client_errors", "server_errors")
    return {day: (requests, client_errors, server_errors) for day, requests, client_errors, server_errors in rows}


def use(recorder: UsageRecorder, key: int, now: datetime, *, status: int = 200, address: str = "192.0.2.1") -> None:
    recorder.count(key, status, now.timestamp(), address)


def test_requests_with_a_key_are_counted_by_status_with_the_client_of_the_last_one(
    create_key: Callable[..., str], key_usage: UsageRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = Client(headers={"X-API-Key": create_key(access="read")}, raise_request_exception=False)
    before = timezone.now()

    with monkeypatch.context() as patch:
        patch.setattr("store.views.inventory_counts", Mock(side_effect=RuntimeError))
        assert client.get("/v1/store/inventory").status_code == 500
    for path in ("/v1/pets", "/v1/store/inventory", "/v1/pets/none", "/v1/pets?limit=x"):
        client.get(path)
    proxied = {"REMOTE_ADDR": "127.0.0.1", "HTTP_X_FORWARDED_FOR": "203.0.113.9, 2001:db8::7"}
    with CaptureQueriesContext(connection) as queries:
        client.post("/v1/pets", {"name": "Rex"}, "application/json", **proxied)  # forbidden
    key_usage.write()

    assert len(queries) == 1, "a request writes its use"
    assert days().keys() <= {before.date(), timezone.now().date()}
    assert [*map(sum, zip(*days().values(), strict=True))] == [6, 3, 1]
    api_key = APIKey.objects.get()
    assert before <= api_key.last_used_at <= timezone.now()
    assert api_key.last_used_address == "2001:db8::7"


def test_a_rejected_key_is_not_counted(client: Client, key_usage: UsageRecorder) -> None:
    plain = seed(new_keys())
    guessed = plain["write"][:18] + "0" * 35

    for key in (*map(plain.get, ("revoked", "expired", "foreign")), guessed + keys.checksum(guessed)):
        assert client.get("/v1/pets", headers={"X-API-Key": key}).status_code in (401, 403)
    key_usage.write()

    assert days() == {}
    assert not APIKey.objects.exclude(last_used_at=None, last_used_address=None).exists()


def test_numbers_of_workers_and_days_are_added_and_the_last_use_is_the_latest_of_all(key_usage: UsageRecorder) -> None:
    api_key, _ = APIKey.objects.create_key(name="Acme")
    midnight = datetime(2026, 3, 2, tzinfo=UTC)
    other_worker = UsageRecorder()

    for recorder in (key_usage, other_worker):
        use(recorder, api_key.pk, midnight - SECOND, status=404)
        use(recorder, api_key.pk, midnight, status=500)
        recorder.write()
    use(key_usage, api_key.pk, midnight + SECOND)
    key_usage.write()
    key_usage.write()  # writes nothing again

    assert days() == {date(2026, 3, 1): (2, 2, 0), date(2026, 3, 2): (3, 0, 2)}
    use(key_usage, api_key.pk, NOW + DAY)
    use(other_worker, api_key.pk, NOW + DAY + SECOND, address="192.0.2.2")
    for recorder in (other_worker, key_usage):
        recorder.write()
    api_key.refresh_from_db()
    assert (api_key.last_used_at, api_key.last_used_address) == (NOW + DAY + SECOND, "192.0.2.2")


@pytest.mark.django_db(transaction=True)
def test_what_cannot_be_written_is_kept_and_written_later_without_the_uses_of_a_deleted_key(
    create_key: Callable[..., str], key_usage: UsageRecorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone, first, second = (APIKey.objects.create_key(name=name)[0] for name in ("Gone", "Acme", "Zoo"))
    for api_key, status in ((gone, 200), (first, 200), (second, 404), (second, 500)):
        use(key_usage, api_key.pk, NOW, status=status)
    written = usage._write

    def fail(*uses: Any) -> None:
        written(*uses)
        use(key_usage, second.pk, NOW + SECOND, status=500)  # a request that arrives at the same time
        raise OperationalError("disk full")

    monkeypatch.setattr(usage, "_write", transaction.atomic(fail))
    with pytest.raises(OperationalError):
        key_usage.write()
    monkeypatch.undo()
    assert not days()
    gone.delete()
    key_usage.write()

    numbers = KeyDay.objects.order_by("api_key").values_list("api_key", "requests", "client_errors", "server_errors")
    assert [*numbers] == [(first.pk, 1, 0, 0), (second.pk, 3, 1, 2)]
    assert APIKey.objects.get(pk=second.pk).last_used_at == NOW + SECOND


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="a connection to SQLite cannot be lost")
def test_a_lost_connection_is_replaced(caplog: pytest.LogCaptureFixture, key_usage: UsageRecorder) -> None:
    api_key, _ = APIKey.objects.create_key(name="Acme")
    use(key_usage, api_key.pk, timezone.now())
    with suppress(OperationalError), connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    key_usage._write_or_log()
    assert "The use of API keys was not written and is kept" in caplog.text

    key_usage._write_or_log()
    assert [requests for requests, _, _ in days().values()] == [1]


def test_uses_are_counted_while_no_thread_can_start(key_usage: UsageRecorder, monkeypatch: pytest.MonkeyPatch) -> None:
    api_key, _ = APIKey.objects.create_key(name="Acme")
    with monkeypatch.context() as patch:
        patch.setattr(UsageRecorder, "_thread", None)
        patch.setattr(threading.Thread, "start", Mock(side_effect=RuntimeError))
        use(key_usage, api_key.pk, NOW)

    use(key_usage, api_key.pk, NOW)
    key_usage.write()

    assert days() == {NOW.date(): (2, 0, 0)}


def test_the_newest_days_are_kept_also_if_the_clock_was_ahead_for_a_moment(key_usage: UsageRecorder) -> None:
    api_key, _ = APIKey.objects.create_key(name="Acme")
    before = [NOW.date() - number * DAY for number in range(USAGE_DAYS, 0, -1)]
    KeyDay.objects.bulk_create(KeyDay(api_key=api_key, day=day, requests=1) for day in before)

    use(key_usage, api_key.pk, NOW)
    key_usage.write()
    assert sorted(days()) == [*before[1:], NOW.date()]

    use(key_usage, api_key.pk, NOW + 400 * DAY)
    key_usage.write()
    use(key_usage, api_key.pk, NOW)
    key_usage.write()
    assert sorted(days()) == [*before[2:], NOW.date(), NOW.date() + 400 * DAY]


@only_on_postgresql
def test_workers_that_write_the_same_keys_at_the_same_time_lose_nothing() -> None:
    created = [APIKey.objects.create_key(name="Acme")[0].pk for _ in range(2)]
    first, second = (UsageRecorder() for _ in range(2))
    for recorder, order in ((first, created), (second, created[::-1])):
        for key in order:
            use(recorder, key, NOW)

    with write_before('UPDATE "apikeys_apikey"', second.write):  # when the first one has a lock
        first.write()

    assert [*KeyDay.objects.values_list("requests", flat=True)] == [2, 2]


@pytest.mark.long
@pytest.mark.parametrize("command", [SERVE, pytest.param(GUNICORN, marks=pytest.mark.once)])
def test_use_is_written_soon_and_the_rest_when_the_server_stops(tmp_path: Path, command: tuple[str, ...]) -> None:
    with migrated_database_url(tmp_path) as url:
        with running_service(tmp_path, command=command, DATABASE_URL=url) as service:
            plain = service.create_key()
            with service.client(plain) as client:
                assert client.get("/v1/pets").status_code == 200
                wait_until(lambda: service.execute(COUNTED)[0][0] == 1)

                def send(number: int) -> int:
                    return client.get("/v1/pets", params={"limit": "x"} if number % 4 == 0 else {}).status_code

                with ThreadPoolExecutor(8) as pool:
                    assert [*pool.map(send, range(80))].count(400) == 20
                headers = {"Idempotency-Key": "once"}  # on SQLite, `serve` handles it on a thread
                assert client.post("/v1/pets", json={"name": "Rex"}, headers=headers).status_code == 201

        assert service.execute(COUNTED) == [(82, 20, 0)]
        ((is_used, address),) = service.execute(LAST_USED, plain[:18])
        assert (bool(is_used), str(address)) == (True, "127.0.0.1")
        assert "API keys was not written" not in service.log.read_text()
