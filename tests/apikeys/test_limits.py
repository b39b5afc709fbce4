"""Requests per minute, counted in a real Redis; and what becomes of them without one."""

import asyncio
import logging
import math
import re
import signal
import socket
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.conf import LazySettings
from django.core.management import CommandError, call_command
from django.db import IntegrityError
from django.test import Client
from django.urls import reverse

from petservice.apikeys import request_counter, throttling
from petservice.apikeys.models import APIKey
from tests.databases import migrated_database_url
from tests.redis_server import REDIS_PASSWORD, RedisServer, redis_used_by, running_redis
from tests.service import Service, free_port, make_certificate, running_service

CHANGE = "admin:apikeys_apikey_change"
FORM = {
    "name": "Acme",
    "environment": "test",
    "access": "write",
    "expires_at_0": "",
    "expires_at_1": "",
    "submission": "6f1c0a5e-9b3d-4f7c-8a2e-1d0b9c8f7a6e",
}
AWAY = "Redis is unavailable, so requests are let through whatever the limit of their API key"


def client_with(**fields: object) -> Client:
    """A client of the API with a new key."""
    return Client(headers={"X-API-Key": APIKey.objects.create_key(name="Acme", **fields)[1]})


def statuses(client: Client, number: int) -> list[int]:
    """Of so many requests, one after the other."""
    return [client.get("/v1/store/inventory").status_code for _ in range(number)]


def let_time_pass(server: RedisServer, seconds: float) -> None:
    """Move all that Redis remembers into the past, or with fewer than no seconds into the future."""
    for name in server.client.scan_iter():
        moments = [int(moment) - int(seconds * 1_000_000) for moment in server.client.lrange(name, 0, -1)]
        server.client.delete(name)
        server.client.rpush(name, *moments)


# What is counted, and how exactly.


@pytest.mark.redis
def test_a_request_too_many_is_refused_and_told_when_to_come_again(redis_in_use: RedisServer) -> None:
    client = client_with(requests_per_minute=3)

    assert statuses(client, 3) == [200] * 3
    response = client.get("/v1/store/inventory")

    assert response.status_code == 429
    assert response.json()["error"]["code"] == "too_many_requests"
    assert "limited to 3 a minute" in response.json()["error"]["message"]
    assert re.fullmatch(r"[1-9]\d*", response["Retry-After"])
    assert int(response["Retry-After"]) <= 60


@pytest.mark.redis
def test_a_minute_is_any_minute(redis_in_use: RedisServer) -> None:
    client = client_with(requests_per_minute=3)

    assert statuses(client, 1) == [200]
    let_time_pass(redis_in_use, 40)
    assert statuses(client, 3) == [200, 200, 429]
    let_time_pass(redis_in_use, 20)  # a minute after the first
    assert statuses(client, 2) == [200, 429]
    let_time_pass(redis_in_use, 40)  # a minute after the second and third
    assert statuses(client, 3) == [200, 200, 429]


@pytest.mark.redis
def test_refused_requests_do_not_count(redis_in_use: RedisServer) -> None:
    client = client_with(requests_per_minute=2)

    assert statuses(client, 20) == [200, 200, *[429] * 18]
    let_time_pass(redis_in_use, 60)
    assert statuses(client, 3) == [200, 200, 429]


@pytest.mark.redis
@pytest.mark.parametrize("passed", [0.2, 57.5, 58.8])
def test_after_the_time_in_retry_after_the_next_request_is_let_through(
    redis_in_use: RedisServer, passed: float
) -> None:
    client = client_with(requests_per_minute=1)
    began = time.monotonic()
    assert statuses(client, 1) == [200]
    let_time_pass(redis_in_use, passed)

    asked = time.monotonic()
    response = client.get("/v1/store/inventory")
    answered = time.monotonic()

    assert response.status_code == 429
    wait = int(response["Retry-After"])
    assert math.ceil(60 - passed - (answered - began)) <= wait <= math.ceil(60 - passed - (asked - began) + 0.5)
    if wait > 3:
        let_time_pass(redis_in_use, wait)
    else:
        time.sleep(wait)  # as a client would
    assert statuses(client, 1) == [200]


@pytest.mark.redis
def test_what_is_no_use_of_the_key_does_not_count(redis_in_use: RedisServer) -> None:
    client = client_with(requests_per_minute=1, access="read")

    for _ in range(3):
        assert client.get("/v1/health").status_code == 200
        assert client.get("/v1/nothing").status_code == 404
        assert client.delete("/v1/pets").status_code == 404
        assert client.post("/v1/pets", {"name": "Rex"}, content_type="application/json").status_code == 403

    assert statuses(client, 2) == [200, 429]
    assert client.get("/v1/health").status_code == 200


@pytest.mark.redis
def test_every_other_request_counts_whatever_becomes_of_it(redis_in_use: RedisServer) -> None:
    client = client_with(requests_per_minute=5)

    answers = [
        client.head("/v1/pets"),
        client.get("/v1/pets?limit=ten"),
        client.get("/v1/pets/42"),
        client.post("/v1/pets", {}, content_type="application/json"),
        client.post("/v1/pets", {"name": "Rex"}, content_type="application/json"),
        client.get("/v1/pets"),
        # The limit is judged before the query and the body.
        client.get("/v1/pets?limit=ten"),
        client.post("/v1/pets", {}, content_type="application/json"),
        client.head("/v1/pets"),
    ]

    assert [answer.status_code for answer in answers] == [200, 400, 404, 400, 201, 429, 429, 429, 429]


@pytest.mark.redis
def test_each_key_has_its_own_count(redis_in_use: RedisServer) -> None:
    first, second, free = (client_with(requests_per_minute=limit) for limit in (1, 2, None))

    assert statuses(first, 2) == [200, 429]
    assert statuses(second, 3) == [200, 200, 429]
    assert statuses(free, 5) == [200] * 5


@pytest.mark.redis
def test_a_limit_holds_from_the_next_request_on(redis_in_use: RedisServer) -> None:
    client = client_with()
    assert statuses(client, 5) == [200] * 5

    for limit, expected in [(2, [200, 200, 429]), (4, [200, 200, 429]), (3, [429]), (None, [200] * 5), (5, [200, 429])]:
        APIKey.objects.update(requests_per_minute=limit)
        assert statuses(client, len(expected)) == expected, limit


@pytest.mark.redis
def test_a_clock_that_has_been_set_back_locks_nobody_out(redis_in_use: RedisServer) -> None:
    client = client_with(requests_per_minute=2)
    assert statuses(client, 3) == [200, 200, 429]

    let_time_pass(redis_in_use, -3600)

    assert statuses(client, 3) == [200, 200, 429]


@pytest.mark.redis
def test_nothing_is_kept_for_longer_than_it_is_needed(redis_in_use: RedisServer) -> None:
    client = client_with(requests_per_minute=2)
    for _ in range(3):
        assert statuses(client, 3) == [200, 200, 429]
        let_time_pass(redis_in_use, 60)
    assert statuses(client, 1) == [200]

    (name,) = redis_in_use.client.keys()
    assert redis_in_use.client.llen(name) == 2
    assert 59 <= redis_in_use.client.ttl(name) <= 61


# Other ways to Redis.


@pytest.mark.redis
@pytest.mark.django_db
def test_redis_is_reached_over_a_unix_socket(tmp_path: Path, settings: LazySettings) -> None:
    path = tmp_path / "redis.sock"
    with (
        running_redis("--unixsocket", path),
        redis_used_by(settings, f"unix://:{REDIS_PASSWORD}@{path}"),
    ):
        assert statuses(client_with(requests_per_minute=2), 3) == [200, 200, 429]


@pytest.mark.redis
@pytest.mark.django_db
@pytest.mark.parametrize("is_trusted", [True, False])
def test_redis_is_reached_over_tls_if_its_certificate_can_be_trusted(
    tmp_path: Path, settings: LazySettings, caplog: pytest.LogCaptureFixture, is_trusted: bool
) -> None:
    certificate, key = make_certificate(tmp_path)
    port = free_port()
    tls = ["--tls-port", str(port), "--tls-cert-file", certificate, "--tls-key-file", key, "--tls-auth-clients", "no"]
    trusted = f"?ssl_ca_certs={certificate}" if is_trusted else ""
    with (
        running_redis(*tls),
        redis_used_by(settings, f"rediss://:{REDIS_PASSWORD}@localhost:{port}/0{trusted}"),
    ):
        assert statuses(client_with(requests_per_minute=2), 3) == [200, 200, 429 if is_trusted else 200]

    assert (AWAY in caplog.text) == (not is_trusted)
    assert REDIS_PASSWORD not in caplog.text


# Several processes.


@pytest.fixture
def services(tmp_path: Path, redis_server: RedisServer) -> Iterator[list[Service]]:
    """Two services of two workers each, with one database and one Redis."""
    with ExitStack() as stack:
        url = stack.enter_context(migrated_database_url(tmp_path))
        variables = {"DATABASE_URL": url, "REDIS_URL": redis_server.url, "WEB_CONCURRENCY": "2"}
        folders = [tmp_path / name for name in ("one", "other")]
        for folder in folders:
            folder.mkdir()
        yield [stack.enter_context(running_service(folder, **variables)) for folder in folders]


def send_at_once(services: list[Service], key: str, number: int) -> Counter[int]:
    """How often which status, for so many requests on connections of their own, in turn to each service."""

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
def test_the_limit_holds_exactly_over_all_workers_of_all_services(
    services: list[Service], redis_server: RedisServer
) -> None:
    key = services[0].create_key("--requests-per-minute", "50")

    for _ in range(3):
        answers = send_at_once(services, key, 200)

        assert answers[200] + answers[201] == 50
        assert answers[429] == 150
        let_time_pass(redis_server, 60)


@pytest.mark.redis
def test_a_request_that_is_answered_on_a_thread_counts_alike(services: list[Service]) -> None:
    key = services[0].create_key("--requests-per-minute", "10")
    body = {"name": "Rex"}

    def post(number: int) -> int:
        with services[number % 2].client(key) as client:
            return client.post("/v1/pets", json=body, headers={"Idempotency-Key": f"{number}"}).status_code

    with ThreadPoolExecutor(8) as pool:
        assert Counter(pool.map(post, range(40))) == {201: 10, 429: 30}


@pytest.mark.redis
@pytest.mark.parametrize("how", ["killed", "stopped"])
def test_while_redis_is_unavailable_requests_are_let_through_at_once_and_it_is_logged(
    services: list[Service], redis_server: RedisServer, how: str
) -> None:
    service = services[0]
    key = service.create_key("--requests-per-minute", "5")
    with service.client(key) as client:
        assert Counter(client.get("/v1/pets").status_code for _ in range(20)) == {200: 5, 429: 15}

        if how == "killed":
            redis_server.kill()
        else:
            redis_server.process.send_signal(signal.SIGSTOP)
        began = time.monotonic()
        assert {client.get("/v1/pets").status_code for _ in range(200)} == {200}
        assert send_at_once([service], key, 200) == {200: 160, 201: 40}
        # Had each waited for Redis, it would have been more than three minutes.
        assert time.monotonic() - began < 50

        if how == "killed":
            redis_server.start()
        else:
            redis_server.process.send_signal(signal.SIGCONT)
        wait_for_limit(service, key)
        let_time_pass(redis_server, 60)
        wait_for_limit(services[1], key)

    log = service.log.read_text()
    assert AWAY in log
    assert "Redis is available again" in log
    # Of each worker one line in ten seconds at most, not one for each of the requests.
    assert 1 <= log.count(AWAY) <= 12
    assert redis_server.client.get_connection_kwargs()["password"] not in log


def wait_for_limit(service: Service, key: str) -> None:
    """Until both workers refuse again, whichever answers."""
    deadline = time.monotonic() + 30
    refused = 0
    while refused < 20:
        assert time.monotonic() < deadline
        # A new connection may be another worker's.
        with service.client(key) as client:
            refused = refused + 1 if client.get("/v1/pets").status_code == 429 else 0


# Without Redis.


@pytest.fixture
def silent_port() -> Iterator[int]:
    """Of a server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.mark.django_db
@pytest.mark.parametrize("how", ["away", "asked each time", "silent"])
def test_without_an_answer_of_redis_requests_are_let_through_and_it_is_logged_once(
    settings: LazySettings,
    silent_port: int,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    how: str,
) -> None:
    if how == "asked each time":
        monkeypatch.setattr(request_counter, "RETRY_INTERVAL", 0)
    port = silent_port if how == "silent" else free_port()
    settings.REDIS_URL = f"redis://:s3cret@127.0.0.1:{port}/0"
    client = client_with(requests_per_minute=2)

    assert statuses(client, 50) == [200] * 50

    (record,) = (record for record in caplog.records if record.name == "petservice.apikeys.request_counter")
    assert record.levelno == logging.WARNING
    assert AWAY in record.getMessage()
    assert "s3cret" not in caplog.text


@pytest.mark.django_db
def test_when_redis_url_is_taken_away_requests_are_let_through_and_it_is_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    throttling._tell_of_no_redis.cache_clear()

    assert statuses(client_with(requests_per_minute=1), 5) == [200] * 5

    (message,) = caplog.messages
    assert "REDIS_URL is not set" in message


@pytest.mark.django_db
def test_a_key_without_a_limit_has_nothing_to_do_with_redis(
    settings: LazySettings, caplog: pytest.LogCaptureFixture
) -> None:
    settings.REDIS_URL = f"redis://127.0.0.1:{free_port()}/0"

    assert statuses(client_with(), 3) == [200] * 3
    assert caplog.records == []


@pytest.mark.django_db
@pytest.mark.parametrize("limit", [0, -1])
def test_the_database_refuses_a_limit_that_lets_nothing_through(limit: int) -> None:
    with pytest.raises(IntegrityError):
        APIKey.objects.create_key(name="Acme", requests_per_minute=limit)


# Setting a limit.


@pytest.mark.parametrize("limit", ["", "600"])
def test_staff_give_a_new_key_a_limit_or_none(admin_client: Client, settings: LazySettings, limit: str) -> None:
    settings.REDIS_URL = "redis://127.0.0.1/0"

    admin_client.post(reverse("admin:apikeys_apikey_add"), FORM | {"requests_per_minute": limit})

    assert APIKey.objects.get().requests_per_minute == (int(limit) if limit else None)


@pytest.mark.parametrize(("before", "after"), [(None, 600), (600, 700), (600, None)])
def test_staff_change_a_limit(
    admin_client: Client, settings: LazySettings, before: int | None, after: int | None
) -> None:
    settings.REDIS_URL = "redis://127.0.0.1/0"
    api_key, _ = APIKey.objects.create_key(name="Acme", requests_per_minute=before)

    admin_client.post(reverse(CHANGE, args=[api_key.pk]), FORM | {"requests_per_minute": after or ""})

    assert APIKey.objects.get().requests_per_minute == after


@pytest.mark.parametrize("limit", ["0", "-1", "1.5", "100001", "many"])
def test_staff_cannot_set_what_is_no_limit(admin_client: Client, settings: LazySettings, limit: str) -> None:
    settings.REDIS_URL = "redis://127.0.0.1/0"

    response = admin_client.post(reverse("admin:apikeys_apikey_add"), FORM | {"requests_per_minute": limit})

    assert response.context["adminform"].form.errors["requests_per_minute"]
    assert not APIKey.objects.exists()


def test_without_redis_the_admin_refuses_a_new_key_with_a_limit_and_says_why(admin_client: Client) -> None:
    response = admin_client.post(reverse("admin:apikeys_apikey_add"), FORM | {"requests_per_minute": "600"})

    assert "set REDIS_URL first" in response.content.decode()
    assert not APIKey.objects.exists()


def test_without_redis_the_admin_refuses_to_change_a_limit_but_not_to_take_it_away(admin_client: Client) -> None:
    api_key, _ = APIKey.objects.create_key(name="Acme", requests_per_minute=600)

    def change(**fields: object) -> Any:
        return admin_client.post(reverse(CHANGE, args=[api_key.pk]), FORM | fields)

    assert "set REDIS_URL first" in change(requests_per_minute=700).content.decode()
    assert APIKey.objects.get().requests_per_minute == 600
    assert change(name="Acme's shop", requests_per_minute=600).status_code == 302
    assert APIKey.objects.get().name == "Acme's shop"
    assert change(requests_per_minute="").status_code == 302
    assert APIKey.objects.get().requests_per_minute is None


@pytest.mark.django_db
def test_a_successor_has_the_same_limit() -> None:
    api_key, _ = APIKey.objects.create_key(name="Acme", requests_per_minute=600)

    successor, _ = api_key.rotate(overlap=api_key.created_at - api_key.created_at)

    assert successor.requests_per_minute == 600


@pytest.mark.django_db
def test_create_api_key_takes_a_limit(settings: LazySettings, capsys: pytest.CaptureFixture[str]) -> None:
    settings.REDIS_URL = "redis://127.0.0.1/0"

    call_command("create_api_key", "Acme", "--requests-per-minute", "600")

    assert APIKey.objects.get().requests_per_minute == 600


@pytest.mark.django_db
@pytest.mark.parametrize("limit", ["0", "-1", "", "1.5", "100001", "\u0661", "many"])
def test_create_api_key_refuses_what_is_no_limit(settings: LazySettings, limit: str) -> None:
    settings.REDIS_URL = "redis://127.0.0.1/0"

    with pytest.raises(CommandError, match="is not a whole number from 1 to 100000"):
        call_command("create_api_key", "Acme", f"--requests-per-minute={limit}")

    assert not APIKey.objects.exists()


@pytest.mark.django_db
def test_create_api_key_refuses_a_limit_without_redis_and_says_why() -> None:
    with pytest.raises(CommandError, match="set REDIS_URL first"):
        call_command("create_api_key", "Acme", "--requests-per-minute", "600")

    assert not APIKey.objects.exists()
