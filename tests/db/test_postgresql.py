"""The service opens few connections to PostgreSQL, limits its waits, and plans its usual statements once."""

import asyncio
import os
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from contextvars import copy_context
from pathlib import Path

import psycopg
import pytest
from django.db import OperationalError, connection, transaction

from pets.models import Pet
from petservice.apikeys.models import APIKey
from petservice.db.backend import backend, time_limit
from petservice.fastpath import postgresql
from petservice.fastpath.postgresql import PostgreSQL
from petservice.fastpath.usual import UsualRequest, usual
from tests.concurrent_write import on_a_connection, second_connection
from tests.databases import fresh_database_url
from tests.server.connections import Client, get, post, scope_of
from tests.service import log_in, manage, running_service
from tests.waiting import wait_until

pytestmark = pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite has none of this")

# Maximum number of connections of each worker, as petservice/docs/deployment.md says.
CONNECTIONS = 12
# A row if a session waits for this table.
WAITING = "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'auth_group'::regclass"
LIMITS = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
# Defaults of the database with which requests and commands would fail, or would write and find other texts.
DEFAULTS = {
    **{"datestyle": "German", "default_transaction_isolation": "serializable"},
    **{"array_nulls": "off", "standard_conforming_strings": "off"},
    **dict.fromkeys(LIMITS, "1ms"),
}


def test_worker_opens_at_most_twelve_lasting_connections_and_one_short_one(tmp_path: Path, migrated_url: str) -> None:
    with running_service(tmp_path, DATABASE_URL=migrated_url, WEB_CONCURRENCY="1") as service:
        key = service.create_key()
        service.create_staff("ada", "correct horse")
        with service.client() as staff:
            log_in(staff, "ada", "correct horse")
            assert staff.get("/admin/").status_code == 200
        idempotent = [post(key, b'{"name":"Rex"}', f"Idempotency-Key: {uuid.uuid4()}".encode()) for _ in range(20)]
        requests = [
            *[get("/v1/pets", f"X-API-Key: {key}".encode()), post(key, b'{"name":"Rex"}')] * 20,
            *idempotent,
            *[get("/v1/pets?x=1", f"X-API-Key: {key}".encode())] * 6,  # not on the fast path
            *[get("/admin/", f"Cookie: sessionid={staff.cookies['sessionid']}".encode())] * 6,
            *[get("/ready")] * 2,
        ]
        with (
            psycopg.connect(migrated_url) as database,
            psycopg.connect(migrated_url, autocommit=True) as watching,
            ExitStack() as stack,
        ):

            def opened() -> int:
                of_the_service = "datname = current_database() AND application_name = 'petservice'"
                return watching.execute(f"SELECT count(*) FROM pg_stat_activity WHERE {of_the_service}").fetchone()[0]

            warm = stack.enter_context(Client(service))  # checks for pending migrations before the lock
            assert warm.response_to(get("/v1/pets", f"X-API-Key: {key}".encode())).status == 200
            database.execute("LOCK TABLE apikeys_apikey, django_session, django_migrations IN ACCESS EXCLUSIVE MODE")
            clients = [stack.enter_context(Client(service)) for _ in requests]
            for client, request in zip(clients, requests, strict=True):
                client.send(request)
            wait_until(lambda: opened() >= CONNECTIONS - 1)  # the check of the first request counts for a second
            with ThreadPoolExecutor(len(clients)) as pool:
                responses = [pool.submit(client.response) for client in clients]
                seen = set()
                wait_until(lambda: seen.add(opened()) or all(response.done() for response in responses))

            assert max(seen) <= CONNECTIONS + 1, "only the use of keys is written by a further connection"
            statuses = [response.result().status for response in responses]
            assert set(statuses[:-2]) == {500}
            assert set(statuses[-2:]) <= {200, 503}
            database.rollback()
            for client, request in zip(clients, requests, strict=True):
                assert client.response_to(request).status in (200, 201, 302)
            wait_until(lambda: opened() == CONNECTIONS)
        assert "canceling statement due to lock timeout" in service.log.read_text()


@pytest.fixture
def odd_defaults() -> Iterator[None]:
    database = f"ALTER DATABASE {connection.ops.quote_name(connection.settings_dict['NAME'])}"
    with connection.cursor() as cursor:
        for name, value in DEFAULTS.items():
            cursor.execute(f"{database} SET {name} = '{value}'")
        if connection.pg_version >= 170_000:
            cursor.execute(f"{database} SET transaction_timeout = '1min'")
        yield
        cursor.execute(f"{database} RESET ALL")


def session() -> list[str]:
    """Return the settings of a new database connection of this thread."""
    with closing(connection.copy()) as new, new.cursor() as cursor:
        return [cursor.execute(f"SHOW {name}").fetchone()[0] for name in DEFAULTS]


async def session_of_the_fast_path() -> list[str]:
    """Return the settings of a new database connection of the fast path."""
    database = PostgreSQL()
    found = [(await database._reading.rows(f"SHOW {name}", ()))[0][0] for name in DEFAULTS]
    await database._reading.idle[0].connection.close()
    return found


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("odd_defaults")
def test_requests_have_timeouts_and_commands_have_none_whatever_the_database_has() -> None:
    needed = ["ISO, MDY", "read committed", "on", "on"]
    context = copy_context()
    context.run(time_limit.set, None)
    assert context.run(session) == [*needed, "0", "0", "0"]
    if connection.pg_version >= 170_000:
        with closing(connection.copy()) as new:
            assert context.run(new.cursor).execute("SHOW transaction_timeout").fetchone() == ("0",)
    # In a process that was started as a command, requests have timeouts as well.
    for started in (copy_context(), context):
        assert started.run(asyncio.run, session_of_the_fast_path()) == [*needed, "5s", "3s", "30s"]
        with ThreadPoolExecutor(1) as pool:
            assert started.run(pool.submit, session).result() == [*needed, "20s", "5s", "1min"]


@pytest.mark.django_db(transaction=True)
def test_a_page_stops_waiting_for_a_silent_server_and_reconnects() -> None:
    context = copy_context()
    context.run(time_limit.set, 0.2)
    with pytest.raises(OperationalError, match="has not answered in time"), connection.cursor() as cursor:
        context.run(cursor.execute, "SELECT pg_sleep(5)")

    connection.close_if_unusable_or_obsolete()
    assert Pet.objects.count() == 0


@pytest.mark.django_db(transaction=True)
def test_statements_of_the_fast_path_are_planned_once_and_use_an_index_even_of_a_small_table() -> None:
    _, key = APIKey.objects.create_key(name="Acme")
    first, _ = (Pet.objects.create(name=name) for name in ("Rex", "Kit"))  # the server might use any index for one pet
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")  # without statistics the server assumes several pages

    async def plans() -> list[str]:
        database = PostgreSQL()
        paths = (f"/v1/pets/{first.pk}", "/v1/pets", f"/v1/pets?limit=7&after={first.pk}", "/v1/store/inventory")
        for path in paths * 2:
            assert await database.find(key, usual_request(path))
        listed = "SELECT name, cardinality(parameter_types), custom_plans FROM pg_prepared_statements"
        # Without those of the driver and of this query.
        prepared = await database._reading.rows(f"{listed} WHERE statement LIKE 'WITH%%'", ())
        assert {custom_plans for _, _, custom_plans in prepared} == {0}
        found = [await _plan(database, name, parameters) for name, parameters, _ in prepared]
        await database._reading.idle[0].connection.close()
        return found

    found = asyncio.run(plans())

    assert len(found) == 4
    assert sum("Index Scan using pets_pet_pkey" in plan for plan in found) == 3
    # None is JIT-compiled, because that would take a hundred times as long as the statement. Servers before version 18
    # would compile some, so CI has such a server.
    assert [plan for plan in found if "JIT" in plan] == []
    # The query of the inventory may scan its table, because it reads all of the few rows.
    assert [plan.count("Seq Scan") for plan in found if "store_" not in plan] == [0] * 3


@pytest.mark.django_db(transaction=True)
def test_connections_that_are_open_serve_requests_while_the_server_refuses_further_ones(
    create_key: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    key, role = create_key(), f"limited_{os.getpid()}"

    async def find() -> list[BaseException]:
        database, request = PostgreSQL(), usual_request("/v1/pets")
        together = [database.find(key, request) for _ in range(20)]
        errors = [one for one in await asyncio.gather(*together, return_exceptions=True) if isinstance(one, Exception)]
        for _ in range(10):
            assert await database.find(key, request)
        for cursor in database._reading.idle:
            await cursor.connection.close()
        return errors

    with connection.cursor() as cursor:
        password = connection.settings_dict["PASSWORD"] or None  # of the server's other role; some servers need none
        cursor.execute(f"CREATE ROLE {role} LOGIN CONNECTION LIMIT 2 PASSWORD %s IN ROLE pg_read_all_data", [password])
        try:
            with monkeypatch.context() as limited:
                limited.setitem(connection.settings_dict, "USER", role)
                errors = asyncio.run(find())
        finally:
            cursor.execute(f"DROP ROLE {role}")

    assert {"too many connections" in str(error) for error in errors} == {True}


@pytest.mark.django_db(transaction=True)
def test_a_request_that_has_waited_too_long_for_a_connection_runs_no_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    async def wait() -> None:
        reading = PostgreSQL()._reading
        while not reading._unused.locked():
            await reading._unused.acquire()
        waiting = asyncio.ensure_future(reading.rows("SELECT 1", ()))
        await asyncio.sleep(0)
        with monkeypatch.context() as late:
            late.setattr(postgresql, "_TIMEOUT", 0.0)
            reading._unused.release()
            with pytest.raises(TimeoutError):
                await waiting
        assert await reading.rows("SELECT 1", ()) == [(1,)], "its place is taken"
        await reading.idle[0].connection.close()

    asyncio.run(wait())


def usual_request(target: str) -> UsualRequest:
    request = usual(scope_of(get(target)))
    assert request
    return request


async def _plan(database: PostgreSQL, statement: str, parameters: int) -> str:
    values = f"({', '.join(['NULL'] * parameters)})" if parameters else ""
    return "\n".join(line for (line,) in await database._reading.rows(f"EXPLAIN EXECUTE {statement}{values}", ()))


@pytest.mark.django_db(transaction=True)
def test_tables_are_locked_despite_a_writer_that_locks_them_in_another_order() -> None:
    tables = ["pets_pet", "auth_group"]
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic(), connection.cursor() as writer:
            writer.execute("SET LOCAL deadlock_timeout = '1min'")  # so that a deadlock ends the other transaction
            writer.execute("LOCK TABLE auth_group IN ROW EXCLUSIVE MODE")
            locking = pool.submit(on_a_connection, transaction.atomic(lambda: backend().lock_out_writers(tables)))
            wait_until(lambda: writer.execute(WAITING).fetchone())

            writer.execute("LOCK TABLE pets_pet IN ROW EXCLUSIVE MODE")  # waits until the deadlock is detected

            assert not locking.done()
        locking.result(timeout=30)


@pytest.mark.django_db(transaction=True)
def test_table_that_stays_locked_is_an_error() -> None:
    with second_connection() as writer, transaction.atomic(), connection.cursor() as cursor:
        writer.execute("LOCK TABLE pets_pet IN ROW EXCLUSIVE MODE")
        cursor.execute("SET LOCAL lock_timeout = '10ms'")
        with pytest.raises(OperationalError, match="lock timeout"):
            backend().lock_out_writers(["pets_pet"])


def test_migration_times_out_instead_of_blocking_other_queries(tmp_path: Path) -> None:
    with fresh_database_url(tmp_path) as url:
        assert manage("migrate", "pets", "0001", DATABASE_URL=url).returncode == 0
        with psycopg.connect(url) as reading, psycopg.connect(url, autocommit=True) as watching:
            reading.execute("SELECT * FROM pets_pet")  # in a transaction that stays open, like that of a backup

            rejected = manage("migrate", "pets", "0002", DATABASE_URL=url)

            assert rejected.returncode == 1
            assert "canceling statement due to lock timeout" in rejected.stderr
            assert watching.execute("SELECT count(*) FROM pets_pet").fetchone() == (0,)
        assert manage("migrate", "pets", "0002", DATABASE_URL=url).returncode == 0
