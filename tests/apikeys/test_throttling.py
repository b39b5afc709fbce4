"""Request limits while Redis is unavailable, and without Redis."""

import logging
import signal
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from ssl import CERT_REQUIRED

import httpx
import pytest
from django.conf import LazySettings

from petservice.apikeys import request_counter, throttling
from tests.apikeys.limits import client_with, statuses
from tests.redis_server import REDIS_PASSWORD, RedisServer
from tests.service import free_port, running_service
from tests.waiting import wait_until

UNAVAILABLE = "Redis is unavailable; rate limits are not enforced"


@pytest.mark.redis
@pytest.mark.parametrize("how", ["killed", "stopped"])
def test_while_redis_is_unavailable_requests_are_allowed_without_delay_and_it_is_logged(
    tmp_path: Path, migrated_url: str, redis_server: RedisServer, how: str
) -> None:
    variables = {"DATABASE_URL": migrated_url, "REDIS_URL": redis_server.url, "WEB_CONCURRENCY": "2"}
    with running_service(tmp_path, **variables) as service, service.client(service.create_key()) as client:
        service.execute("UPDATE apikeys_apikey SET requests_per_minute = 5")
        wait_for_limit(client)
        if how == "killed":
            redis_server.kill()
        else:
            redis_server.process.send_signal(signal.SIGSTOP)
        began = time.monotonic()
        assert {client.get("/v1/pets").status_code for _ in range(200)} == {200}
        with ThreadPoolExecutor(20) as pool:
            assert {*pool.map(lambda _: client.post("/v1/pets", json={"name": "Rex"}).status_code, range(100))} == {201}
        # If each request had waited for Redis, the first 200 alone would have taken 100 seconds.
        assert time.monotonic() - began < 50

        if how == "killed":
            redis_server.start()
        else:
            redis_server.process.send_signal(signal.SIGCONT)
        wait_for_limit(client)

    log = service.log.read_text()
    assert "Redis is available again" in log
    # Each worker logs the outage, not each request.
    assert 1 <= log.count(UNAVAILABLE) <= 12
    assert REDIS_PASSWORD not in log


def wait_for_limit(client: httpx.Client) -> None:
    """Wait until both workers enforce the limit. Each new connection can reach the other worker."""
    new = {"Connection": "close"}
    wait_until(lambda: all(client.get("/v1/pets", headers=new).status_code == 429 for _ in range(20)))


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


@pytest.mark.once
@pytest.mark.parametrize(
    "url", ["redis://pets@redis/1", "rediss://redis/0?ssl_ca_certs=ca.pem", "unix:///run/redis.sock"]
)
def test_no_kind_of_connection_waits_long_and_tls_needs_a_trusted_certificate(url: str) -> None:
    connection = request_counter.RequestCounter(url).redis.connection_pool.make_connection()

    timeout = request_counter.RESPONSE_TIMEOUT
    assert (connection.socket_timeout, connection.socket_connect_timeout) == (timeout, timeout)
    assert getattr(connection, "cert_reqs", CERT_REQUIRED) == CERT_REQUIRED
