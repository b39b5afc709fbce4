"""Request limits across several processes, and without Redis."""

import asyncio
import logging
import signal
import socket
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest
from django.conf import LazySettings

from petservice.apikeys import keys, request_counter, throttling
from tests.apikeys.limits import UNAVAILABLE, client_with, shift_timestamps, statuses
from tests.databases import migrated_database_url
from tests.redis_server import RedisServer, running_redis
from tests.server.services import service_with_test_endpoints
from tests.service import Service, free_port, running_service
from tests.waiting import wait_until


@pytest.fixture(scope="module")
def shared_redis() -> Iterator[RedisServer]:
    """A Redis server for the services of this module, which each test leaves running."""
    with running_redis() as server:
        yield server


@pytest.fixture(scope="module")
def database_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of the database of all services of this module."""
    with migrated_database_url(tmp_path_factory.mktemp("database")) as url:
        yield url


@pytest.fixture(scope="module")
def variables(database_url: str, shared_redis: RedisServer) -> dict[str, str]:
    """The environment of services of two workers each, with one database and one Redis."""
    return {"DATABASE_URL": database_url, "REDIS_URL": shared_redis.url, "WEB_CONCURRENCY": "2"}


@pytest.fixture(scope="module")
def quick_service(tmp_path_factory: pytest.TempPathFactory, variables: dict[str, str]) -> Iterator[Service]:
    """A service that waits half a second for Redis, as it does unless a test says otherwise."""
    with running_service(tmp_path_factory.mktemp("quick"), **variables) as service:
        yield service


@pytest.fixture(scope="module")
def patient_services(tmp_path_factory: pytest.TempPathFactory, variables: dict[str, str]) -> Iterator[list[Service]]:
    """Two services that wait long for Redis, because on a busy machine it may take longer than half a second."""
    folders = [tmp_path_factory.mktemp(name) for name in ("patient", "patient-other")]
    patience = variables | {"TEST_REDIS_TIMEOUT": "60"}
    with ExitStack() as stack:
        yield [stack.enter_context(service_with_test_endpoints(folder, **patience)) for folder in folders]


def key_with_limit(service: Service, requests_per_minute: int) -> str:
    plain = service.create_key()
    limit = "UPDATE apikeys_apikey SET requests_per_minute = %s WHERE prefix = %s"
    service.execute(limit, requests_per_minute, keys.prefix(plain))
    return plain


def send_concurrently(services: list[Service], key: str, number: int) -> Counter[int]:
    """Send concurrent requests on separate connections, alternating between services, and count their statuses."""

    async def send_all() -> list[int]:
        limits = httpx.Limits(max_connections=number)
        async with httpx.AsyncClient(headers={"X-API-Key": key}, timeout=60, trust_env=False, limits=limits) as client:
            return await asyncio.gather(*(send(client, turn) for turn in range(number)))

    async def send(client: httpx.AsyncClient, turn: int) -> int:
        url = f"{services[turn % len(services)].url}/v1/pets"
        if turn % 5 == 4:
            return (await client.post(url, json={"name": "Rex"})).status_code
        return (await client.request("HEAD" if turn % 5 == 3 else "GET", url)).status_code

    return Counter(asyncio.run(send_all()))


@pytest.mark.redis
def test_the_limit_is_exact_across_all_workers_of_all_services(
    patient_services: list[Service], shared_redis: RedisServer
) -> None:
    key = key_with_limit(patient_services[0], 50)

    for _ in range(2):
        counts = send_concurrently(patient_services, key, 150)

        assert counts[200] + counts[201] == 50
        assert counts[429] == 100
        shift_timestamps(shared_redis, 60)


@pytest.mark.redis
@pytest.mark.parametrize("how", ["killed", "stopped"])
def test_while_redis_is_unavailable_requests_are_allowed_without_delay_and_it_is_logged(
    quick_service: Service, patient_services: list[Service], shared_redis: RedisServer, how: str
) -> None:
    service = quick_service
    replace_workers(service)  # because a worker that has just logged an outage does not log the next one
    key = key_with_limit(service, 5)
    earlier = service.log.read_text()
    with service.client(key) as client:
        wait_for_limit(service, key)

        if how == "killed":
            shared_redis.kill()
        else:
            shared_redis.process.send_signal(signal.SIGSTOP)
        began = time.monotonic()
        assert {client.get("/v1/pets").status_code for _ in range(200)} == {200}
        assert send_concurrently([service], key, 100) == {200: 80, 201: 20}
        # If each request had waited for Redis, the first 200 alone would have taken 100 seconds.
        assert time.monotonic() - began < 50

        if how == "killed":
            shared_redis.start()
        else:
            shared_redis.process.send_signal(signal.SIGCONT)
        wait_for_limit(service, key)
        shift_timestamps(shared_redis, 60)
        wait_for_limit(patient_services[0], key)

    log = service.log.read_text().removeprefix(earlier)
    assert UNAVAILABLE in log
    assert "Redis is available again" in log
    # Each worker logs the outage, not each request.
    assert 1 <= log.count(UNAVAILABLE) <= 12
    assert shared_redis.client.get_connection_kwargs()["password"] not in log


def replace_workers(service: Service) -> None:
    before = service.workers()
    service.process.send_signal(signal.SIGHUP)
    wait_until(lambda: len(service.workers()) == 2 and not set(before) & set(service.workers()))


def wait_for_limit(service: Service, key: str) -> None:
    """Wait until both workers enforce the limit again."""
    deadline = time.monotonic() + 30
    rejected = 0
    while rejected < 20:
        assert time.monotonic() < deadline
        # A new connection can reach the other worker.
        with service.client(key) as client:
            rejected = rejected + 1 if client.get("/v1/pets").status_code == 429 else 0


# Limits without Redis.


@pytest.fixture
def silent_port() -> Iterator[int]:
    """The port of a server that accepts connections and never responds."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.mark.once
@pytest.mark.django_db
@pytest.mark.parametrize("how", ["closed port", "no retry interval", "silent"])
def test_requests_are_allowed_if_redis_does_not_respond_and_it_is_logged_once(
    settings: LazySettings,
    silent_port: int,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    how: str,
) -> None:
    if how == "no retry interval":
        monkeypatch.setattr(request_counter, "RETRY_INTERVAL", 0)
    port = silent_port if how == "silent" else free_port()
    settings.REDIS_URL = f"redis://:s3cret@127.0.0.1:{port}/0"
    client = client_with(requests_per_minute=2)

    assert statuses(client, 50) == [200] * 50

    (record,) = (record for record in caplog.records if record.name == "petservice.apikeys.request_counter")
    assert record.levelno == logging.WARNING
    assert UNAVAILABLE in record.getMessage()
    assert "s3cret" not in caplog.text


@pytest.mark.once
@pytest.mark.django_db
def test_requests_are_allowed_if_redis_url_is_removed_and_only_keys_with_a_limit_use_redis(
    settings: LazySettings, caplog: pytest.LogCaptureFixture
) -> None:
    throttling._log_missing_redis.cache_clear()
    assert statuses(client_with(requests_per_minute=1), 5) == [200] * 5

    settings.REDIS_URL = f"redis://127.0.0.1:{free_port()}/0"
    assert statuses(client_with(), 3) == [200] * 3

    (message,) = caplog.messages
    assert "REDIS_URL is not set" in message
