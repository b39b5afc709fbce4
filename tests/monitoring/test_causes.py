"""/metrics names causes over all workers and both paths of a request: what waits, what fails and what is refused."""

import os
import sqlite3
import time
import uuid
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

import httpx
import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone
from psycopg import errors

from pets.models import Pet
from petservice.apikeys.models import APIKey, KeyDay
from petservice.monitoring.counters import take
from petservice.monitoring.database_calls import kind_of_error
from petservice.monitoring.metrics import MAX_KEYS
from petservice.server.limits import THREADS
from store.services import reconcile_inventory
from tests.contract.seed import new_keys, seed
from tests.monitoring.observed import Observed
from tests.server.connections import Client, get, post, response_to
from tests.server.services import held_requests, release
from tests.service import log_in
from tests.waiting import wait_until

# One that the fast path answers, and one that it leaves to Django.
PATHS = {"fast_path": "/v1/pets", "django": "/v1/pets?limit=1&x=1"}


def respond(observed: Observed, method: str, path: str, key: str | None = None, **options: object) -> httpx.Response:
    with observed.service.client(key) as client:
        return client.request(method, path, **options)


def grows(observed: Observed, name: str, by: float, action: Callable[[], object], **labels: str) -> None:
    """Assert that a counter grows by so much over an action, which is counted within a second."""
    before = observed.sample(name, **labels)
    action()
    wait_until(lambda: observed.sample(name, **labels) >= before + by)
    assert observed.sample(name, **labels) == before + by


@pytest.mark.parametrize("path", PATHS)
def test_calls_of_the_database_and_their_time_are_counted_on_both_paths(one_worker: Observed, path: str) -> None:
    # A worker hands its first request to Django, to see whether migrations are missing.
    for _ in range(4):
        assert respond(one_worker, "GET", PATHS["fast_path"], one_worker.key).status_code == 200
    calls = one_worker.sample("petservice_database_calls_total", path=path)
    seconds = one_worker.sample("petservice_database_seconds_total", path=path)

    for _ in range(4):
        assert respond(one_worker, "GET", PATHS[path], one_worker.key).status_code in (200, 400)

    wait_until(lambda: one_worker.sample("petservice_database_calls_total", path=path) >= calls + 4)
    wait_until(lambda: 0 < one_worker.sample("petservice_database_seconds_total", path=path) - seconds < 60)
    assert one_worker.sample("petservice_database_connections_opened_total", path="django") >= 2


@pytest.mark.parametrize("path", PATHS)
def test_failed_calls_of_the_database_are_counted_on_both_paths(one_worker: Observed, path: str) -> None:
    before = one_worker.sample("petservice_database_errors_total", kind="other")
    one_worker.service.execute("ALTER TABLE apikeys_apikey RENAME TO hidden")
    try:
        assert respond(one_worker, "GET", PATHS[path], one_worker.key).status_code == 500
    finally:
        one_worker.service.execute("ALTER TABLE hidden RENAME TO apikeys_apikey")

    wait_until(lambda: one_worker.sample("petservice_database_errors_total", kind="other") > before)


def test_a_failed_connection_of_django_is_counted() -> None:
    unreachable = connection.copy()
    unreachable.settings_dict["NAME"] = "/missing/pets"
    take()

    with pytest.raises(unreachable.Database.OperationalError):
        unreachable.connect()

    assert take()["database_errors", {"sqlite": "other", "postgresql": "connection"}[connection.vendor]] == 1


@pytest.mark.django_db(transaction=True)
def test_failed_statements_and_commits_of_django_are_counted() -> None:
    take()

    with pytest.raises(IntegrityError):
        Pet.objects.create(name="")
    with pytest.raises(IntegrityError), transaction.atomic():
        KeyDay.objects.create(api_key_id=0, day=timezone.now())  # the database checks at the end that there is this key

    assert take()["database_errors", "constraint"] == 2


@pytest.mark.once
@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (errors.QueryCanceled, "timeout"),
        (errors.LockNotAvailable, "lock"),
        (errors.DeadlockDetected, "lock"),
        (errors.DiskFull, "disk_full"),
        (errors.TooManyConnections, "connection"),
        (errors.AdminShutdown, "connection"),
        (errors.OperationalError, "connection"),  # the server cannot be reached
        (errors.ConnectionTimeout, "connection"),  # the server is silent
        ("SQLITE_INTERRUPT", "timeout"),
        ("SQLITE_BUSY", "lock"),
        ("SQLITE_BUSY_SNAPSHOT", "lock"),
        (errors.ReadOnlySqlTransaction, "connection"),
        ("SQLITE_FULL", "disk_full"),
        ("SQLITE_IOERR", "other"),
    ],
)
def test_kinds_of_errors(code: type[Exception] | str, kind: str) -> None:
    if isinstance(code, str):
        error: Exception = sqlite3.OperationalError()
        error.sqlite_errorname = code  # type: ignore[attr-defined]
    else:
        error = code()
    assert kind_of_error(error) == kind


@pytest.mark.once
def test_refusals_are_counted_by_reason(one_worker: Observed) -> None:
    with one_worker.service.models():
        plain = seed(new_keys())
    reasons = {"unknown": "unknown_key", "revoked": "revoked_key", "expired": "expired_key", "read": "read_only_key"}
    reasons |= {"foreign": "key_of_other_environment", "write": "invalid"}
    refused = {reason: post(plain[kind], b'{"name":""}') for kind, reason in reasons.items()}
    refused |= {"not_authenticated": get("/v1/pets"), "bad_request": b"HELO\r\n\r\n"}

    def counted() -> Counter[str]:
        found = one_worker.samples().items()
        return Counter({dict(labels)["reason"]: int(value) for (name, labels), value in found if "_refusals_" in name})

    expected = counted() + Counter([*refused])
    for request in refused.values():
        response_to(one_worker.service, request)

    wait_until(lambda: counted() == expected)


@pytest.mark.once
def test_idempotent_requests_are_counted_by_outcome(one_worker: Observed) -> None:
    def create(name: str) -> Callable[[], object]:
        return lambda: respond(one_worker, "POST", "/v1/pets", one_worker.key, json={"name": name}, headers=headers)

    headers = {"Idempotency-Key": str(uuid.uuid4())}
    grows(one_worker, "petservice_idempotent_requests_total", 1, create("Rex"), outcome="new")
    grows(one_worker, "petservice_idempotent_requests_total", 1, create("Rex"), outcome="replayed")
    grows(one_worker, "petservice_refusals_total", 1, create("Tom"), reason="idempotency_key_reused")


@pytest.mark.once
def test_logins_are_counted_by_outcome(one_worker: Observed) -> None:
    release(one_worker.service.log.parent)  # otherwise the endpoints for tests hold each login
    for outcome, password, status in (("login", "a long password", 302), ("login_failed", "a wrong one", 200)):
        with one_worker.service.client() as client:
            send = partial(log_in, client, "ada", password, status)
            grows(one_worker, "petservice_logins_total", 1, send, outcome=outcome)


@pytest.mark.once
def test_failures_of_redis_are_counted(one_worker: Observed) -> None:
    with one_worker.service.models():
        _, limited = APIKey.objects.create_key(name="Limited", requests_per_minute=10)

    assert respond(one_worker, "GET", "/v1/pets", limited).status_code == 200

    wait_until(lambda: one_worker.sample("petservice_redis_failures_total", call="count") >= 1)


@pytest.mark.once
def test_requests_and_errors_are_counted_for_each_key_and_for_few_keys(one_worker: Observed) -> None:
    with one_worker.service.models():
        made = [APIKey.objects.create_key(name=f"Key {number}") for number in range(2 * MAX_KEYS + 1)]
    record, plain = made[0]

    grows(
        one_worker,
        "petservice_key_requests_total",
        2,
        lambda: [respond(one_worker, "GET", path, plain) for path in ("/v1/pets", "/v1/pets?limit=x")],
        key=record.prefix,
    )
    wait_until(lambda: one_worker.sample("petservice_key_errors_total", key=record.prefix) == 1)
    for _, plain in made[1:]:
        assert response_to(one_worker.service, get("/v1/pets", f"X-API-Key: {plain}".encode())).status == 200
    wait_until(lambda: one_worker.sample("petservice_key_requests_total", key="other") > 0)
    labels_of_keys = [labels for name, labels in one_worker.samples() if name == "petservice_key_requests_total"]
    assert len(labels_of_keys) <= 2 * MAX_KEYS + 1


@pytest.mark.once
def test_waiting_for_a_thread_is_counted(one_worker: Observed) -> None:
    def value(name: str) -> float:
        return one_worker.sample(f"petservice_{name}_total", pool="pages")

    folder = one_worker.service.log.parent
    queued, seconds = value("queued"), value("queue_seconds")
    with ExitStack() as stack:
        clients = [stack.enter_context(Client(one_worker.service)) for _ in range(THREADS["pages"] + 1)]
        for client in clients:
            client.send(get("/held"))
        wait_until(lambda: held_requests(folder) == THREADS["pages"])
        began = time.monotonic()
        wait_until(lambda: value("queued") >= queued + THREADS["pages"])  # and the pages of earlier tests
        waited = time.monotonic() - began
        release(folder)
        for client in clients:
            client.response()

    wait_until(lambda: value("queued") >= queued + THREADS["pages"] + 1)
    wait_until(lambda: value("queue_seconds") >= seconds + waited)


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite has no connections of a server")
def test_connections_of_the_database_are_in_use_while_they_have_a_transaction(one_worker: Observed) -> None:
    def value(state: str) -> float:
        respond(one_worker, "GET", "/ready")  # all the time, as a load balancer does
        return one_worker.sample("petservice_database_connections", state=state)

    ((maximum,),) = one_worker.service.execute("SHOW max_connections")
    wait_until(lambda: value("open") > 0 and value("used") == 0)
    with Client(one_worker.service) as client:
        client.send(get("/transaction"))
        wait_until(lambda: value("used") == 1)
        assert value("used") < value("open") < value("allowed") < int(maximum)
        release(one_worker.service.log.parent)
        assert client.response().status == 200
    wait_until(lambda: value("used") == 0)


def test_the_drift_of_the_inventory_is_shown_until_it_is_corrected(one_worker: Observed) -> None:
    wrong = "INSERT INTO store_inventorycounter (status, count) VALUES ('sold', 3), ('pending', -1)"
    one_worker.service.execute(wrong)
    wait_until(lambda: one_worker.sample("petservice_inventory_drift") == 4)
    with one_worker.service.models():
        reconcile_inventory()
    wait_until(lambda: one_worker.sample("petservice_inventory_drift") == 0)


def test_the_size_of_the_database_and_the_age_of_the_backup_are_shown(one_worker: Observed) -> None:
    wait_until(lambda: one_worker.sample("petservice_database_bytes") > 100_000)
    assert one_worker.sample("petservice_backup_age_seconds") == 0  # none yet
    folder = one_worker.service.log.parent
    marker, is_embedded = folder / "last-backup", connection.vendor == "sqlite"
    if is_embedded:
        one_worker.service.manage("backup_database", str(folder / "backup"))
    else:
        marker.touch()  # as a move from SQLite leaves it
    os.utime(marker, (time.time() - 1000,) * 2)
    age = one_worker.sample("petservice_backup_age_seconds")
    assert 1000 <= age < 1100 if is_embedded else age == 0
