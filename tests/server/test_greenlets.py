"""Calls on the event loop: each runs to its end, none holds up the others, and a lost connection fails nobody."""

import asyncio
import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import (
    DEFAULT_DB_ALIAS,
    IntegrityError,
    NotSupportedError,
    OperationalError,
    connection,
    connections,
    transaction,
)

from pets.models import IdempotencyRecord, Pet
from pets.services import IdempotencyKeyInUseError, create_pet, create_pet_once
from petservice.apikeys.models import APIKey
from petservice.db.backend import backend
from petservice.db.postgresql.base import Connection
from petservice.db.postgresql.latency import MAX_SLOW_RESPONSES, TRIAL_INTERVAL, Latency
from petservice.db.waiting import waiter
from petservice.server.asgi import WRITE_THREADS
from petservice.server.greenlets import GreenletPool, PooledGreenlet
from store.services import inventory_counts
from tests.databases import migrated_database_url
from tests.monitoring.observed import Observed, observed_service
from tests.server.connections import Client, get, post
from tests.server.services import planted_service
from tests.waiting import wait_until

only_on_postgresql = pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite is never waited for")
only_on_sqlite = pytest.mark.skipif("connection.vendor != 'sqlite'", reason="PostgreSQL has no group commit")


@pytest.fixture(autouse=True)
def connection_of_this_thread() -> Iterator[None]:
    """A greenlet pool leaves its own in the place of this one: in a worker the loop's thread has none."""
    own = connections[DEFAULT_DB_ALIAS]
    yield
    if connections[DEFAULT_DB_ALIAS] is not own:
        connections[DEFAULT_DB_ALIAS].close()  # the test may have gone on to use it
    connections[DEFAULT_DB_ALIAS] = own


_kept: ContextVar[int] = ContextVar("kept", default=0)


def count() -> int:
    _kept.set(_kept.get() + 1)
    return _kept.get()


def fail() -> None:
    raise ValueError("the planted cause")


def sleep(seconds: float) -> str:
    """Wait for the server, which sleeps; and end as a request does."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(%s)", [seconds])
    finally:
        connection.close_if_unusable_or_obsolete()
    return "slept"


def test_a_call_gives_what_the_function_gives() -> None:
    async def calls() -> None:
        pool = GreenletPool(1)
        assert await pool.call(partial(pow, 2, 5)) == 32
        with pytest.raises(ValueError, match="the planted cause"):
            await pool.call(fail)
        assert await pool.call(partial(pow, 2, 6)) == 64

    asyncio.run(calls())


def test_a_call_finds_its_greenlet_as_its_waiter_and_nobody_else_does() -> None:
    async def calls() -> None:
        pool = GreenletPool(2)
        one = await pool.call(waiter.get)
        assert isinstance(one, PooledGreenlet)
        assert not one.has_timed_out
        assert waiter.get() is None

    asyncio.run(calls())


def test_context_variables_stay_in_their_greenlet() -> None:
    async def calls() -> None:
        pool = GreenletPool(1)
        assert [await pool.call(count) for _ in range(3)] == [1, 2, 3]
        assert _kept.get() == 0

    asyncio.run(calls())


@only_on_postgresql
@pytest.mark.django_db(transaction=True)
def test_a_call_that_waits_lets_others_go_on() -> None:
    async def calls() -> list[str]:
        pool = GreenletPool(2)
        ended: list[str] = []
        slow = asyncio.ensure_future(pool.call(partial(sleep, 0.5)))
        slow.add_done_callback(lambda _: ended.append("slow"))
        for _ in range(20):
            await asyncio.sleep(0)
            await pool.call(partial(sleep, 0.001))
            ended.append("quick")
        await slow
        pool.close()
        return ended

    assert asyncio.run(calls()) == ["quick"] * 20 + ["slow"]


async def lets_others_run(pool: GreenletPool, seconds: float) -> bool:
    """Whether others run while a call waits for a response that takes the server so long."""

    def ask() -> None:
        connection.ensure_connection()
        connection.connection.rows(b"SELECT pg_sleep($1)", [seconds])

    others: list[str] = []
    other = asyncio.get_running_loop().call_soon(others.append, "went on")
    await pool.call(ask)
    other.cancel()
    return bool(others)


@only_on_postgresql
@pytest.mark.django_db(transaction=True)
def test_a_call_polls_for_a_near_server_and_lets_others_run_while_it_is_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Connection, "_latency", Latency())
    near, far = 0, 0.001

    async def calls() -> None:
        pool = GreenletPool(1)
        await lets_others_run(pool, near)  # as it connects
        for _ in range(2 * MAX_SLOW_RESPONSES):
            await lets_others_run(pool, far)
            # What takes long, such as a commit, does not make a server far away.
            assert not all([await lets_others_run(pool, near) for _ in range(MAX_SLOW_RESPONSES)])
        # From the beginning: a machine that was too busy for prompt responses has come nearer to the next trial.
        latency = Latency()
        monkeypatch.setattr(Connection, "_latency", latency)
        # A response that is there before it is polled for counts as prompt, so that it may take more than these.
        while latency._slow < MAX_SLOW_RESPONSES:
            await lets_others_run(pool, far)
        assert all([await lets_others_run(pool, far) for _ in range(TRIAL_INTERVAL // 2)])
        # It is near again. One trial may meet it as it waits for the CPU.
        assert not all([await lets_others_run(pool, near) for _ in range(10 * TRIAL_INTERVAL)])
        pool.close()

    asyncio.run(calls())


@only_on_postgresql
@pytest.mark.django_db(transaction=True)
def test_calls_beyond_the_size_of_the_pool_queue() -> None:
    async def calls() -> None:
        pool = GreenletPool(2)
        assert await asyncio.gather(*(pool.call(partial(sleep, 0.01)) for _ in range(20))) == ["slept"] * 20
        pool.close()

    asyncio.run(calls())


@only_on_postgresql
@pytest.mark.django_db(transaction=True)
def test_no_more_calls_queue_than_there_are_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("petservice.server.greenlets.MAX_QUEUED", 3)

    async def calls() -> None:
        pool = GreenletPool(1)
        for _ in range(2):  # those that have left the queue make room in it
            waiting = [asyncio.ensure_future(pool.call(partial(sleep, 0.2))) for _ in range(4)]
            await asyncio.sleep(0)  # they begin
            with pytest.raises(TimeoutError, match="3 calls wait"):
                await pool.call(count)
            waiting.pop().cancel()
            await asyncio.sleep(0)
            waiting.append(asyncio.ensure_future(pool.call(partial(sleep, 0.01))))
            assert await asyncio.gather(*waiting) == ["slept"] * 4
        pool.close()

    asyncio.run(calls())


@only_on_postgresql
@pytest.mark.django_db(transaction=True)
def test_a_call_runs_to_its_end_though_nobody_waits_for_it() -> None:
    def write() -> None:
        sleep(0.2)
        create_pet(name="Rex")

    async def calls() -> None:
        pool = GreenletPool(1)
        left = asyncio.ensure_future(pool.call(write))
        queued = asyncio.ensure_future(pool.call(count))
        await asyncio.sleep(0.05)
        left.cancel()
        queued.cancel()
        assert await pool.call(Pet.objects.count) == 1
        pool.close()

    asyncio.run(calls())


@only_on_postgresql
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("has_turn", [False, True], ids=["before its turn", "when its turn has come"])
def test_a_call_that_is_cancelled_just_as_a_greenlet_becomes_free_leaves_it_to_the_next(has_turn: bool) -> None:
    async def calls() -> None:
        pool = GreenletPool(1, timeout=2)
        loop = asyncio.get_running_loop()

        def end() -> None:
            sleep(0.05)
            if has_turn:  # cancelled soon, before it can use the greenlet that it gets now
                loop.call_soon(leaving.cancel)
            else:
                leaving.cancel()

        first = asyncio.ensure_future(pool.call(end))
        leaving = asyncio.ensure_future(pool.call(fail))
        await first
        with pytest.raises(asyncio.CancelledError):
            await leaving
        assert await pool.call(partial(sleep, 0.01)) == "slept"
        pool.close()

    asyncio.run(calls())


@only_on_postgresql
@pytest.mark.django_db(transaction=True)
def test_a_call_that_the_database_does_not_answer_ends_and_leaves_its_greenlet_to_others() -> None:
    async def calls() -> None:
        pool = GreenletPool(1, timeout=0.3)
        began = time.monotonic()
        slow = asyncio.ensure_future(pool.call(partial(sleep, 30)))
        await asyncio.sleep(0.2)
        with pytest.raises(OperationalError, match="has not answered in time"):
            await slow
        assert await pool.call(partial(sleep, 0.01)) == "slept"
        assert time.monotonic() - began < 10
        pool.close()

    asyncio.run(calls())


@only_on_postgresql
@pytest.mark.django_db(transaction=True)
def test_a_call_that_has_taken_too_long_cannot_begin_to_wait_again_nor_connect_again() -> None:
    def sleeping() -> int:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(29)' AND state = 'active'"
            )
            return cursor.fetchone()[0]

    def stubborn() -> None:
        for _ in range(3):
            with suppress(OperationalError):
                sleep(29)
        sleep(29)

    async def calls() -> None:
        pool = GreenletPool(1, timeout=0.3)
        with pytest.raises(OperationalError, match="has not answered in time"):
            await pool.call(stubborn)
        pool = GreenletPool(1, timeout=30)
        assert await pool.call(sleeping) == 1, "the server ends that one by itself"
        assert await pool.call(partial(sleep, 0.01)) == "slept"
        pool.close()

    asyncio.run(calls())


@only_on_postgresql
@pytest.mark.django_db(transaction=True)
def test_no_call_waits_for_a_greenlet_for_longer_than_for_the_database() -> None:
    async def calls() -> None:
        pool = GreenletPool(1, timeout=3)
        slow = asyncio.ensure_future(pool.call(partial(sleep, 2)))
        queued = [asyncio.ensure_future(pool.call(partial(sleep, 2))) for _ in range(5)]
        outcomes = await asyncio.gather(slow, *queued, return_exceptions=True)
        assert outcomes[:2] == ["slept"] * 2
        assert [type(outcome) for outcome in outcomes[2:]] == [TimeoutError] * 4
        # What the log says; an empty reason would help nobody.
        assert all("has not answered earlier calls in time" in str(outcome) for outcome in outcomes[2:])
        assert await pool.call(partial(sleep, 0.01)) == "slept"
        pool.close()

    asyncio.run(calls())


def save() -> None:
    Pet(name="Rex").save()


def save_in_a_transaction() -> None:
    with transaction.atomic():
        Pet.objects.count()
        save()


@only_on_sqlite
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("write", [save, save_in_a_transaction, lambda: Pet.objects.bulk_create([Pet(name="Rex")])])
def test_a_call_that_would_make_others_wait_for_the_write_lock_is_refused(write: Callable[[], None]) -> None:
    async def calls() -> None:
        pool = GreenletPool(1)
        with pytest.raises(NotSupportedError, match="must not write to SQLite"):
            await pool.call(write)
        assert await pool.call(Pet.objects.count) == 0

    asyncio.run(calls())


@only_on_sqlite
@pytest.mark.django_db(transaction=True)
def test_inserts_that_wait_together_are_all_written() -> None:
    async def calls() -> None:
        pool = GreenletPool(64)
        names = [f"Pet {number}" for number in range(300)]
        made = await asyncio.gather(*(pool.call(lambda name=name: create_pet(name=name)) for name in names))
        assert [pet.name for pet in made] == names

    asyncio.run(calls())

    assert Pet.objects.count() == inventory_counts()["available"] == 300


@only_on_sqlite
@pytest.mark.django_db(transaction=True)
def test_an_insert_that_breaks_a_rule_leaves_the_others_alone() -> None:
    async def calls() -> list[Any]:
        pool = GreenletPool(64)
        names = [f"Pet {number}" if number % 10 else "" for number in range(50)]
        return await asyncio.gather(
            *(pool.call(lambda name=name: create_pet(name=name)) for name in names), return_exceptions=True
        )

    made = asyncio.run(calls())

    assert [isinstance(outcome, IntegrityError) for outcome in made] == [number % 10 == 0 for number in range(50)]
    assert Pet.objects.count() == 45


@pytest.mark.django_db(transaction=True)
def test_pets_with_idempotency_keys_that_wait_together_are_made_once_each() -> None:
    """Some requests come twice, and one is for a pet that the database refuses."""
    api_key, _ = APIKey.objects.create_key(name="Acme")

    async def calls() -> list[Any]:
        pool = GreenletPool(backend().concurrent_writes)
        keys = [number // 2 for number in range(40)]
        requests = [
            partial(create_pet_once, api_key_id=api_key.pk, idempotency_key=f"{key}", name="" if key == 7 else f"{key}")
            for key in keys
        ]
        found = await asyncio.gather(*map(pool.call, requests), return_exceptions=True)
        pool.close()
        return found

    outcomes = asyncio.run(calls())

    refused = [outcome for outcome in outcomes if isinstance(outcome, IntegrityError)]
    in_use = [outcome for outcome in outcomes if isinstance(outcome, IdempotencyKeyInUseError)]
    made = [outcome for outcome in outcomes if outcome not in refused + in_use]
    assert len(refused) + len(in_use) + len(made) == 40
    assert refused
    assert sum(is_new for _, is_new in made) == Pet.objects.count() == IdempotencyRecord.objects.count() == 19
    assert {pet.id for pet, _ in made} == set(Pet.objects.values_list("pk", flat=True))
    assert inventory_counts()["available"] == 19


@only_on_sqlite
@pytest.mark.django_db(transaction=True)
def test_inserts_fail_while_another_writes_for_too_long_and_succeed_afterwards() -> None:
    async def calls(number: int) -> list[Any]:
        pool = GreenletPool(10, timeout=10)
        return await asyncio.gather(
            *(pool.call(lambda: create_pet(name="Rex")) for _ in range(number)), return_exceptions=True
        )

    with closing(sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        failures = asyncio.run(calls(3))

    assert [str(failure) for failure in failures] == ["database is locked"] * 3
    assert [pet.name for pet in asyncio.run(calls(3))] == ["Rex"] * 3
    assert Pet.objects.count() == 3


@pytest.fixture(scope="module")
def observed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Observed]:
    with observed_service(tmp_path_factory.mktemp("observed")) as observed:
        yield observed


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


@contextmanager
def no_writer_let_in(url: str) -> Iterator[None]:
    """While it lasts nobody writes to the pets in the database, and everybody reads."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as database:
            database.execute("BEGIN IMMEDIATE")
            yield
    else:
        with psycopg.connect(url) as database:
            database.execute("LOCK TABLE pets_pet IN EXCLUSIVE MODE")
            yield


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
    """tests/server/planted_urls.py has it."""
    number = WRITE_THREADS + 2
    with ExitStack() as stack:
        url = stack.enter_context(migrated_database_url(tmp_path))
        service = stack.enter_context(planted_service(tmp_path, DATABASE_URL=url))
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


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Observed]:
    """With a time-out of one second for calls."""
    folder = tmp_path_factory.mktemp("impatient")
    with migrated_database_url(folder) as url:
        variables = {"DATABASE_URL": url, "PLANTED_CALL_TIMEOUT": "1", "PETSERVICE_LOG_FORMAT": "json"}
        with planted_service(folder, **variables) as service:
            yield Observed(service, service.create_key(), "")


@pytest.mark.parametrize("number", [1, 8], ids=["the call that waits", "calls that wait for a greenlet"])
def test_a_request_for_which_the_database_takes_too_long_has_one_id(impatient: Observed, number: int) -> None:
    with ExitStack() as stack:
        before = failed_requests(impatient)
        clients = [stack.enter_context(Client(impatient.service)) for _ in range(number)]
        with no_writer_let_in(impatient.service.environment["DATABASE_URL"]):
            for client in clients:
                client.send(post(impatient.key, b'{"name":"Rex"}'))
            answers = [client.answer() for client in clients]
    ids = {answer.headers["x-request-id"] for answer in answers}
    assert {answer.status for answer in answers} == {500}
    assert len(ids) == number
    wait_until(lambda: failed_requests(impatient) - before >= ids)  # a line may be on its way
    assert failed_requests(impatient) - before == ids


def failed_requests(observed: Observed) -> set[str]:
    """The ids of the requests of which the log has an error."""
    return {line["request_id"] for line in observed.lines() if line["level"] == "ERROR"}
