"""Requests to a running service that wait for the database."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest

from petservice.server.asgi import WRITE_THREADS
from tests.monitoring.observed import Observed
from tests.server.connections import Client, get, post
from tests.server.greenlets.calls import locked_against_writes, only_on_postgresql
from tests.server.services import service_with_test_endpoints
from tests.waiting import wait_until


@only_on_postgresql
def test_database_connections_that_are_lost_while_idle_fail_no_request(observed: Observed) -> None:
    service, key = observed.service, observed.key
    for _ in range(3):
        with (
            Client(service) as client,
            psycopg.connect(service.environment["DATABASE_URL"], autocommit=True) as server,
        ):
            for _ in range(10):
                client.send(get("/v1/pets", f"X-API-Key: {key}".encode()))
                assert client.response().status == 200
                client.send(post(key, b'{"name":"Rex"}'))
                assert client.response().status == 201
            server.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )


def test_waiting_writers_do_not_block_readers(observed: Observed) -> None:
    with ExitStack() as stack:
        writers = [stack.enter_context(Client(observed.service)) for _ in range(10)]
        with locked_against_writes(observed.service.environment["DATABASE_URL"]):
            for writer in writers:
                writer.send(post(observed.key, b'{"name":"Rex"}'))
            for _ in range(10):
                with Client(observed.service) as reader:
                    reader.socket.settimeout(3)
                    reader.send(get("/v1/pets", f"X-API-Key: {observed.key}".encode()))
                    assert reader.response().status == 200

        assert [writer.response().status for writer in writers] == [201] * 10


@pytest.mark.long
def test_view_that_uses_django_alone_works_and_blocks_no_reader(tmp_path: Path, migrated_url: str) -> None:
    """The view is in tests/server/endpoint_urls.py."""
    number = WRITE_THREADS + 2
    with ExitStack() as stack:
        service = stack.enter_context(service_with_test_endpoints(tmp_path, DATABASE_URL=migrated_url))
        plain_key = service.create_key()
        key = f"X-API-Key: {plain_key}".encode()
        writers = [stack.enter_context(Client(service)) for _ in range(number)]
        for writer in writers:
            writer.send(post(plain_key, b'{"name":"Rex"}'))
        targets = [f"/v1/pets/{json.loads(writer.response().body)['id']}" for writer in writers]
        with locked_against_writes(migrated_url):
            for writer, target in zip(writers, targets, strict=True):
                writer.send(get(target, key, method="DELETE"))
            for target in targets:
                with Client(service) as reader:
                    reader.socket.settimeout(3)  # less than the lock timeout of a writer
                    reader.send(get(target, key))
                    assert reader.response().status == 200

        for writer in writers:
            writer.response()
        for writer, target in zip(writers, targets, strict=True):
            writer.send(get(target, key, method="DELETE"))
            assert writer.response().status == 204
            writer.send(get(target, key))
            assert writer.response().status == 404


@contextmanager
def locked_against_reads(url: str) -> Iterator[None]:
    """Lock the pets on PostgreSQL, so that other connections can neither read nor write them."""
    with psycopg.connect(url) as database:
        database.execute("LOCK TABLE pets_pet IN ACCESS EXCLUSIVE MODE")
        yield


@pytest.mark.parametrize("pool", ["writes", pytest.param("reads", marks=only_on_postgresql)])
def test_metrics_count_the_requests_that_wait_for_the_database(observed: Observed, pool: str) -> None:
    with ExitStack() as stack:

        def in_use() -> dict[str, float]:
            metric = "petservice_api_concurrency_in_use"
            return {name: observed.sample(metric, pool=name) for name in ("reads", "writes")}

        url = observed.service.environment["DATABASE_URL"]
        request = post(observed.key, b'{"name":"Rex"}')
        lock = locked_against_writes(url)
        if pool == "reads":
            request, lock = get("/v1/pets", f"X-API-Key: {observed.key}".encode()), locked_against_reads(url)
        waiting = {"reads": 0, "writes": 0} | {pool: 2}
        clients = [stack.enter_context(Client(observed.service)) for _ in range(2)]
        with lock:
            for client in clients:
                # Several requests, because each waits for some seconds and the metric is sampled once per second.
                client.send(request * 5)
            wait_until(lambda: in_use() == waiting)

        for client in clients:
            for _ in range(5):
                assert client.response().status in (200, 201, 500)
        wait_until(lambda: set(in_use().values()) == {0})
