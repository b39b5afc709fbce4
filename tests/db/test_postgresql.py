"""What is asked of PostgreSQL: few connections, short waits, prepared statements, and migrations that give way."""

import asyncio
import os
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from contextvars import copy_context
from pathlib import Path

import psycopg
import pytest
from django.core.management import call_command
from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.backends.utils import CursorWrapper
from django.test import Client as DjangoClient

from petservice.db.waiting import unlimited
from petservice.server.greenlets import GreenletPool
from tests.databases import fresh_database_url
from tests.server.connections import Client, get, post
from tests.service import ROOT, Service, running_service
from tests.waiting import wait_until

pytestmark = pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite has none of this")

# The most connections that a worker process opens, as petservice/docs/deployment.md says.
CONNECTIONS = 10


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    with fresh_database_url(tmp_path) as url:
        yield url


@pytest.fixture
def one_worker(tmp_path: Path, url: str) -> Iterator[Service]:
    with running_service(tmp_path, DATABASE_URL=url, WEB_CONCURRENCY="1") as service:
        yield service


def test_a_worker_opens_ten_connections_and_no_more_whatever_waits(one_worker: Service, url: str) -> None:
    key = one_worker.create_key()
    idempotent = [post(key, b'{"name":"Rex"}', f"Idempotency-Key: {uuid.uuid4()}".encode()) for _ in range(20)]
    requests = [
        *[get("/v1/pets", f"X-API-Key: {key}".encode()), post(key, b'{"name":"Rex"}')] * 20,
        *idempotent,
        *[get("/admin/", b"Cookie: sessionid=" + b"x" * 32)] * 6,
        *[get("/ready")] * 2,
    ]
    with psycopg.connect(url) as database, psycopg.connect(url, autocommit=True) as watching, ExitStack() as stack:

        def opened() -> int:
            of_the_service = "datname = current_database() AND application_name = 'petservice'"
            return watching.execute(f"SELECT count(*) FROM pg_stat_activity WHERE {of_the_service}").fetchone()[0]

        warm = stack.enter_context(Client(one_worker))  # it knows then that the database has all migrations
        warm.send(get("/v1/pets", f"X-API-Key: {key}".encode()))
        assert warm.answer().status == 200
        database.execute("LOCK TABLE apikeys_apikey, django_session, django_migrations IN ACCESS EXCLUSIVE MODE")
        clients = [stack.enter_context(Client(one_worker)) for _ in requests]
        for client, request in zip(clients, requests, strict=True):
            client.send(request)
        wait_until(lambda: opened() == CONNECTIONS)
        with ThreadPoolExecutor(len(clients)) as pool:
            answers = [pool.submit(client.answer) for client in clients]
            seen = set()
            wait_until(lambda: seen.add(opened()) or all(answer.done() for answer in answers))

        assert max(seen) == CONNECTIONS
        assert {answer.result().status for answer in answers} <= {500, 503}
        database.rollback()
        for client, request in zip(clients, requests, strict=True):
            client.send(request)
            assert client.answer().status in (200, 201, 302)
        assert opened() == CONNECTIONS
    assert "canceling statement due to lock timeout" in one_worker.log.read_text()


def limits() -> list[str]:
    """The time-outs of the connection in use here."""
    names = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
    connection.close()  # the limits come with a new one
    try:
        with connection.cursor() as cursor:
            return [cursor.execute(f"SHOW {name}").fetchone()[0] for name in names]
    finally:
        connection.close()


def in_a_greenlet(function: Callable[[], list[str]]) -> list[str]:
    own = connections[DEFAULT_DB_ALIAS]
    try:
        return asyncio.run(GreenletPool(1).call(function))
    finally:
        connections[DEFAULT_DB_ALIAS] = own


def on_a_thread(function: Callable[[], list[str]]) -> list[str]:
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.extend(function()))
    thread.start()
    thread.join()
    return found


@pytest.mark.django_db(transaction=True)
def test_the_server_ends_what_takes_too_long_but_no_command() -> None:
    assert in_a_greenlet(limits) == ["5s", "3s", "30s"]
    assert on_a_thread(limits) == ["20s", "5s", "1min"]
    context = copy_context()
    context.run(unlimited.set, True)
    assert context.run(limits) == ["0", "0", "0"]
    # A greenlet or a thread of a process that began as a command has them nonetheless.
    assert context.run(in_a_greenlet, limits) == ["5s", "3s", "30s"]
    assert context.run(on_a_thread, limits) == ["20s", "5s", "1min"]


def test_frequent_statements_are_prepared(api: DjangoClient) -> None:
    api.post("/v1/pets", {"name": "Rex"}, content_type="application/json")
    api.get("/v1/pets")

    with connection.cursor() as cursor:
        cursor.execute("SELECT statement FROM pg_prepared_statements")
        prepared = [statement for (statement,) in cursor.fetchall()]
    for beginning, table in [("SELECT", "apikeys_apikey"), ("SELECT", "pets_pet"), ("INSERT", "pets_pet")]:
        assert any(statement.startswith(beginning) and table in statement for statement in prepared), (beginning, table)


@pytest.mark.django_db(transaction=True)
def test_statements_of_calls_are_planned_once_and_go_by_an_index_even_of_a_small_table(api: DjangoClient) -> None:
    for name in ("Rex", "Kit"):  # of a single pet the server could take any index
        created = api.post("/v1/pets", {"name": name}, content_type="application/json")
    pet_id = created.json()["id"]
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")  # else it takes a new table for one of several pages

    def plans() -> list[str]:
        paths = (f"/v1/pets/{pet_id}", "/v1/pets", f"/v1/pets?limit=7&after={pet_id}", "/v1/store/inventory")
        try:
            for path in paths * 2:
                assert api.get(path).status_code == 200
            with connection.cursor() as cursor:
                cursor.execute("SELECT name, cardinality(parameter_types), custom_plans FROM pg_prepared_statements")
                prepared = cursor.fetchall()
                assert {custom_plans for _, _, custom_plans in prepared} == {0}
                return [_plan(cursor, name, parameters) for name, parameters, _ in prepared]
        finally:
            connection.close()

    found = in_a_greenlet(plans)

    assert len(found) == 5  # one for the key, and one for each path
    assert sum("Index Scan using pets_pet_pkey" in plan for plan in found) == 3
    # None is compiled, which takes a hundred times as long as it runs. Servers before 18 would do it, so CI has one.
    assert [plan for plan in found if "JIT" in plan] == []
    # The inventory's few rows are all read.
    assert [plan.count("Seq Scan") for plan in found if "store_" not in plan] == [0] * 4


@pytest.mark.django_db(transaction=True)
def test_the_server_knows_after_an_import_how_many_pets_there_are(tmp_path: Path) -> None:
    file = tmp_path / "pets.csv"
    file.write_text("name\nRex\nKit\nTom\n")

    call_command("import_pets", str(file))

    with connection.cursor() as cursor:
        cursor.execute("SELECT reltuples FROM pg_class WHERE relname = 'pets_pet'")
        assert cursor.fetchone() == (3,)


def _plan(cursor: CursorWrapper, statement: str, parameters: int) -> str:
    values = f"({', '.join(['NULL'] * parameters)})" if parameters else ""
    cursor.execute(f"EXPLAIN EXECUTE {statement}{values}")
    return "\n".join(line for (line,) in cursor.fetchall())


def manage(url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "manage.py", *arguments]
    environment = os.environ | {"DATABASE_URL": url}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)


def migrate(url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return manage(url, "migrate", "--verbosity", "0", *arguments)


def test_an_import_and_who_makes_an_index_meanwhile_do_not_wait_for_each_other(url: str, tmp_path: Path) -> None:
    assert migrate(url).returncode == 0
    file = tmp_path / "pets.csv"
    file.write_text("name\nRex\n")
    with psycopg.connect(url) as indexing:
        indexing.execute("LOCK TABLE pets_pet IN SHARE UPDATE EXCLUSIVE MODE")

        imported = manage(f"{url}{'&' if '?' in url else '?'}options=-c%20lock_timeout%3D2s", "import_pets", str(file))

    assert imported.returncode == 0, imported.stderr


def test_a_migration_gives_way_rather_than_hold_others_up(url: str) -> None:
    assert migrate(url, "pets", "0001").returncode == 0
    with psycopg.connect(url) as reading, psycopg.connect(url, autocommit=True) as watching:
        reading.execute("SELECT * FROM pets_pet")  # and does not end, as a backup does for long

        refused = migrate(url, "pets", "0002")

        assert refused.returncode == 1
        assert "canceling statement due to lock timeout" in refused.stderr
        assert watching.execute("SELECT count(*) FROM pets_pet").fetchone() == (0,)
    assert migrate(url).returncode == 0
