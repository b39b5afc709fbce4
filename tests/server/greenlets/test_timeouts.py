"""Calls in a greenlet pool that time out because the database responds too late."""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any

import pytest
from django.db import OperationalError, connection

from petservice.db.postgresql.base import Connection
from petservice.server.greenlets import GreenletPool
from tests.databases import migrated_database_url
from tests.monitoring.observed import Observed
from tests.server.connections import Client, post
from tests.server.greenlets.calls import locked_against_writes, only_on_postgresql, sleep
from tests.server.services import service_with_test_endpoints
from tests.waiting import wait_until


@only_on_postgresql
@pytest.mark.django_db(transaction=True)
async def test_call_without_a_response_of_the_database_times_out_and_frees_its_greenlet() -> None:
    pool = GreenletPool(1, timeout=0.3)
    began = time.monotonic()
    slow = asyncio.ensure_future(pool.call(partial(sleep, 30)))
    await asyncio.sleep(0.2)
    with pytest.raises(OperationalError, match="has not answered in time"):
        await slow
    assert await pool.call(partial(sleep, 0.01)) == "slept"
    assert time.monotonic() - began < 10
    pool.close()


@only_on_postgresql
@pytest.mark.django_db(transaction=True)
async def test_call_that_has_timed_out_can_neither_wait_nor_connect_again() -> None:
    def sleeping() -> int:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(29)' AND state = 'active'"
            )
            return cursor.fetchone()[0]

    def repeat() -> None:
        for _ in range(3):
            with suppress(OperationalError):
                sleep(29)
        sleep(29)

    pool = GreenletPool(1, timeout=0.3)
    with pytest.raises(OperationalError, match="has not answered in time"):
        await pool.call(repeat)
    pool = GreenletPool(1, timeout=30)
    assert await pool.call(sleeping) == 1, "the server ends that statement itself"
    assert await pool.call(partial(sleep, 0.01)) == "slept"
    pool.close()


@only_on_postgresql
@pytest.mark.django_db(transaction=True)
async def test_call_that_times_out_while_it_connects_waits_for_no_statement(monkeypatch: pytest.MonkeyPatch) -> None:
    may_connect = threading.Event()
    connect = Connection.connect

    def connect_late(**options: Any) -> Connection:
        may_connect.wait(10)
        return connect(**options)

    monkeypatch.setattr(Connection, "connect", connect_late)
    pool = GreenletPool(1, timeout=0.1)
    with pytest.raises(TimeoutError):
        await pool.call(partial(sleep, 30))
    may_connect.set()
    async with asyncio.timeout(3):  # less than the server's own limit for a statement
        while pool.in_use:
            await asyncio.sleep(0.01)
    pool.close()


@only_on_postgresql
@pytest.mark.django_db(transaction=True)
async def test_wait_for_a_greenlet_has_the_same_timeout_as_the_wait_for_the_database() -> None:
    pool = GreenletPool(1, timeout=3)
    slow = asyncio.ensure_future(pool.call(partial(sleep, 2)))
    queued = [asyncio.ensure_future(pool.call(partial(sleep, 2))) for _ in range(5)]
    outcomes = await asyncio.gather(slow, *queued, return_exceptions=True)
    assert outcomes[:2] == ["slept"] * 2
    assert [type(outcome) for outcome in outcomes[2:]] == [TimeoutError] * 4
    # The log has this message, so it must name the cause.
    assert all("has not answered earlier calls in time" in str(outcome) for outcome in outcomes[2:])
    assert await pool.call(partial(sleep, 0.01)) == "slept"
    pool.close()


@pytest.fixture(scope="module")
def with_short_timeout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Observed]:
    """A service whose calls time out after one second."""
    folder = tmp_path_factory.mktemp("short-timeout")
    with migrated_database_url(folder) as url:
        variables = {"DATABASE_URL": url, "TEST_CALL_TIMEOUT": "1", "PETSERVICE_LOG_FORMAT": "json"}
        with service_with_test_endpoints(folder, **variables) as service:
            yield Observed(service, service.create_key(), "")


@pytest.mark.parametrize("number", [1, 8], ids=["call that waits for the database", "calls that wait for a greenlet"])
def test_request_that_times_out_has_the_same_id_in_its_response_and_in_the_log(
    with_short_timeout: Observed, number: int
) -> None:
    with ExitStack() as stack:
        before = failed_requests(with_short_timeout)
        clients = [stack.enter_context(Client(with_short_timeout.service)) for _ in range(number)]
        with locked_against_writes(with_short_timeout.service.environment["DATABASE_URL"]):
            for client in clients:
                client.send(post(with_short_timeout.key, b'{"name":"Rex"}'))
            responses = [client.response() for client in clients]
    ids = {response.headers["x-request-id"] for response in responses}
    assert {response.status for response in responses} == {500}
    assert len(ids) == number
    wait_until(lambda: failed_requests(with_short_timeout) - before >= ids)  # the last line may be incomplete
    assert failed_requests(with_short_timeout) - before == ids


def failed_requests(observed: Observed) -> set[str]:
    """Return the ids of the requests that have an error in the log."""
    return {line["request_id"] for line in observed.lines() if line["level"] == "ERROR"}
