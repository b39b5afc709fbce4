"""Requests of a running service whose calls wait for the database."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest

from petservice.server.asgi import WRITE_THREADS
from tests.databases import migrated_database_url
from tests.monitoring.observed import Observed
from tests.server.connections import Client, get, post
from tests.server.greenlets.calls import no_writer_let_in, only_on_postgresql
from tests.server.services import service_with_test_endpoints
from tests.waiting import wait_until


@only_on_postgresql
def test_connections_that_died_while_idle_fail_no_request(observed: Observed) -> None:
    service, key = observed.service, observed.key
    for _ in range(3):
        with (
            Client(service) as client,
            psycopg.connect(service.environment["DATABASE_URL"], autocommit=True) as server,
        ):
            for _ in range(10):
                client.send(get("/v1/pets", f"X-API-Key: {key}".encode()))
                assert client.answer().status == 200
                client.send(post(key, b'{"name":"Rex"}'))
                assert client.answer().status == 201
            server.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )


def test_writers_that_wait_do_not_hold_readers(observed: Observed) -> None:
    with ExitStack() as stack:
        writers = [stack.enter_context(Client(observed.service)) for _ in range(10)]
        with no_writer_let_in(observed.service.environment["DATABASE_URL"]):
            for writer in writers:
                writer.send(post(observed.key, b'{"name":"Rex"}'))
            for _ in range(10):
                with Client(observed.service) as reader:
                    reader.socket.settimeout(3)
                    reader.send(get("/v1/pets", f"X-API-Key: {observed.key}".encode()))
                    assert reader.answer().status == 200

        assert [writer.answer().status for writer in writers] == [201] * 10


def test_a_view_that_somebody_writes_in_the_plainest_way_works_and_holds_up_no_reader(tmp_path: Path) -> None:
    """tests/server/endpoint_urls.py has it."""
    number = WRITE_THREADS + 2
    with ExitStack() as stack:
        url = stack.enter_context(migrated_database_url(tmp_path))
        service = stack.enter_context(service_with_test_endpoints(tmp_path, DATABASE_URL=url))
        plain_key = service.create_key()
        key = f"X-API-Key: {plain_key}".encode()
        writers = [stack.enter_context(Client(service)) for _ in range(number)]
        for writer in writers:
            writer.send(post(plain_key, b'{"name":"Rex"}'))
        targets = [f"/v1/pets/{json.loads(writer.answer().body)['id']}" for writer in writers]
        with no_writer_let_in(url):
            for writer, target in zip(writers, targets, strict=True):
                writer.send(get(target, key, method="DELETE"))
            for target in targets:
                with Client(service) as reader:
                    reader.socket.settimeout(3)  # less than a writer waits for another
                    reader.send(get(target, key))
                    assert reader.answer().status == 200

        for writer in writers:
            writer.answer()
        for writer, target in zip(writers, targets, strict=True):
            writer.send(get(target, key, method="DELETE"))
            assert writer.answer().status == 204
            writer.send(get(target, key))
            assert writer.answer().status == 404


@contextmanager
def no_reader_let_in(url: str) -> Iterator[None]:
    """While it lasts nobody reads or writes the pets, on PostgreSQL."""
    with psycopg.connect(url) as database:
        database.execute("LOCK TABLE pets_pet IN ACCESS EXCLUSIVE MODE")
        yield


@pytest.mark.parametrize("pool", ["writes", pytest.param("reads", marks=only_on_postgresql)])
def test_metrics_say_how_many_calls_wait(observed: Observed, pool: str) -> None:
    with ExitStack() as stack:

        def in_use() -> dict[str, float]:
            metric = "petservice_api_concurrency_in_use"
            return {name: observed.sample(metric, pool=name) for name in ("reads", "writes")}

        url = observed.service.environment["DATABASE_URL"]
        request = post(observed.key, b'{"name":"Rex"}')
        lock = no_writer_let_in(url)
        if pool == "reads":
            request, lock = get("/v1/pets", f"X-API-Key: {observed.key}".encode()), no_reader_let_in(url)
        waiting = {"reads": 0, "writes": 0} | {pool: 2}
        clients = [stack.enter_context(Client(observed.service)) for _ in range(2)]
        with lock:
            for client in clients:
                # One after the other: each waits for some seconds, and they are looked at once a second.
                client.send(request * 5)
            wait_until(lambda: in_use() == waiting)

        for client in clients:
            for _ in range(5):
                assert client.answer().status in (200, 201, 500)
        wait_until(lambda: set(in_use().values()) == {0})
