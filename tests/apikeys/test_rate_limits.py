"""Request limits: counted exactly in a real Redis, and not enforced while it is unavailable."""

import math
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from ssl import CERT_REQUIRED

import pytest
from django.conf import LazySettings
from django.test import Client

from petservice.apikeys import request_counter, throttling
from petservice.apikeys.models import APIKey
from petservice.apikeys.request_counter import RequestCounter
from tests.redis_server import REDIS_PASSWORD, RedisServer
from tests.service import free_port
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db


def client_with(**fields: object) -> Client:
    """Return an API client with a new key that has these fields."""
    return Client(headers={"X-API-Key": APIKey.objects.create_key(name="Acme", **fields)[1]})


def statuses(client: Client, number: int) -> list[int]:
    """Send requests one after the other, and return their statuses."""
    return [client.get("/v1/store/inventory").status_code for _ in range(number)]


def shift_timestamps(server: RedisServer, seconds: float) -> None:
    """Move all timestamps in Redis into the past, as if this time had passed, or into the future if it is negative."""
    for name in server.client.scan_iter():
        timestamps = [int(timestamp) - int(seconds * 1_000_000) for timestamp in server.client.lrange(name, 0, -1)]
        server.client.delete(name)
        server.client.rpush(name, *timestamps)


# A limit, the seconds since the step before, and the statuses of the requests then.
STEPS = [
    (3, 0, [200]),
    (3, 40, [200, 200, 429]),
    (3, 20, [200, 429]),  # a minute after the first
    (3, 40, [200, 200, 429]),  # a minute after the second and third
    (3, 60, [200, 200, 200, 429]),
    # A changed limit holds immediately.
    (2, 0, [429]),
    (4, 0, [200, 429]),
    (None, 0, [200] * 5),
    (5, 0, [200, 429]),
    # A clock that is set back locks no client out.
    (2, -3600, [200, 200, 429]),
]


@pytest.mark.redis
def test_the_limit_holds_in_any_period_of_60_seconds(redis_in_use: RedisServer) -> None:
    client = client_with()
    for step, (limit, seconds, expected) in enumerate(STEPS):
        APIKey.objects.update(requests_per_minute=limit)
        shift_timestamps(redis_in_use, seconds)
        assert statuses(client, len(expected)) == expected, step

    (name,) = redis_in_use.client.keys()
    assert redis_in_use.client.llen(name) == 2, "more timestamps than the limit"
    assert 59 <= redis_in_use.client.ttl(name) <= 61


@pytest.mark.redis
def test_a_request_after_the_time_in_retry_after_is_allowed(redis_in_use: RedisServer) -> None:
    passed, client = 57.5, client_with(requests_per_minute=1)
    began = time.monotonic()
    assert statuses(client, 1) == [200]
    shift_timestamps(redis_in_use, passed)

    asked = time.monotonic()
    response = client.get("/v1/store/inventory")
    answered = time.monotonic()

    assert response.status_code == 429
    wait = int(response["Retry-After"])
    assert math.ceil(60 - passed - (answered - began)) <= wait <= math.ceil(60 - passed - (asked - began) + 0.5)
    shift_timestamps(redis_in_use, wait)
    assert statuses(client, 1) == [200]


@pytest.mark.redis
def test_requests_that_use_the_key_count_with_any_outcome_and_no_others(redis_in_use: RedisServer) -> None:
    reader, client = client_with(requests_per_minute=1, access="read"), client_with(requests_per_minute=5)
    for _ in range(3):
        assert reader.get("/v1/health").status_code == 200
        assert reader.get("/v1/nothing").status_code == 404
        assert reader.delete("/v1/pets").status_code == 404
        assert reader.post("/v1/pets", {"name": "Rex"}, content_type="application/json").status_code == 403
    assert statuses(reader, 2) == [200, 429]
    assert reader.get("/v1/health").status_code == 200

    responses = [
        client.head("/v1/pets"),
        client.get("/v1/pets?limit=ten"),
        client.get("/v1/pets/42"),
        client.post("/v1/pets", {}, content_type="application/json"),
        client.post("/v1/pets", {"name": "Rex"}, content_type="application/json"),
        client.get("/v1/pets"),
        # The limit is checked before the query and the body.
        client.get("/v1/pets?limit=ten"),
        client.post("/v1/pets", {}, content_type="application/json"),
        client.head("/v1/pets"),
    ]

    assert [response.status_code for response in responses] == [200, 400, 404, 400, 201, 429, 429, 429, 429]


@pytest.mark.redis
def test_the_limit_is_exact_for_requests_over_several_connections_at_the_same_time(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_counter, "RESPONSE_TIMEOUT", 60)  # on a busy machine, Redis may need long
    counters = [RequestCounter(redis_server.url) for _ in range(3)]

    with ThreadPoolExecutor(15) as pool:
        waits = [*pool.map(lambda turn: counters[turn % 3].seconds_to_wait("key", 50), range(150))]

    assert waits.count(0) == 50
    for counter in counters:
        counter.redis.close()


# Without Redis.


@pytest.mark.redis
@pytest.mark.parametrize("how", ["killed", "suspended"])
def test_while_redis_is_unavailable_requests_are_allowed_without_delay_and_it_is_logged_once(
    redis_in_use: RedisServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, how: str
) -> None:
    client = client_with(requests_per_minute=2)
    assert statuses(client, 3) == [200, 200, 429]
    if how == "killed":
        redis_in_use.kill()
        monkeypatch.setattr(request_counter, "RETRY_INTERVAL", 0)  # each request asks again, and is refused at once
    else:
        redis_in_use.process.send_signal(signal.SIGSTOP)

    began = time.monotonic()
    assert statuses(client, 200) == [200] * 200
    # If each request had waited for Redis, they would have taken 100 seconds.
    assert time.monotonic() - began < 50

    if how == "killed":
        redis_in_use.start()
    else:
        redis_in_use.process.send_signal(signal.SIGCONT)
    wait_until(lambda: statuses(client, 3)[2] == 429)
    unavailable, available = caplog.messages
    assert unavailable.startswith("Redis is unavailable; rate limits are not enforced: ")
    assert available.startswith("Redis is available again")
    assert REDIS_PASSWORD not in caplog.text


@pytest.mark.once
def test_requests_are_allowed_if_redis_url_is_removed_and_only_keys_with_a_limit_use_redis(
    settings: LazySettings, caplog: pytest.LogCaptureFixture
) -> None:
    throttling._log_missing_redis.cache_clear()
    assert statuses(client_with(requests_per_minute=1), 5) == [200] * 5

    settings.REDIS_URL = f"redis://127.0.0.1:{free_port()}/0"
    assert statuses(client_with(), 3) == [200] * 3

    (message,) = caplog.messages
    assert "REDIS_URL is not set" in message


@pytest.mark.once
@pytest.mark.parametrize(
    "url", ["redis://pets@redis/1", "rediss://redis/0?ssl_ca_certs=ca.pem", "unix:///run/redis.sock"]
)
def test_no_kind_of_connection_waits_long_and_tls_needs_a_trusted_certificate(url: str) -> None:
    connection = request_counter.RequestCounter(url).redis.connection_pool.make_connection()

    timeout = request_counter.RESPONSE_TIMEOUT
    assert (connection.socket_timeout, connection.socket_connect_timeout) == (timeout, timeout)
    assert connection.retry.get_retries() == 0
    assert getattr(connection, "cert_reqs", CERT_REQUIRED) == CERT_REQUIRED
