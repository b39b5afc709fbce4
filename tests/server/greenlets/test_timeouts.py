"""Calls for which the database takes too long."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from functools import partial

import pytest
from django.db import OperationalError, connection

from petservice.server.greenlets import GreenletPool
from tests.databases import migrated_database_url
from tests.monitoring.observed import Observed
from tests.server.connections import Client, post
from tests.server.greenlets.calls import no_writer_let_in, only_on_postgresql, sleep
from tests.server.services import service_with_test_endpoints
from tests.waiting import wait_until


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


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Observed]:
    """With a time-out of one second for calls."""
    folder = tmp_path_factory.mktemp("impatient")
    with migrated_database_url(folder) as url:
        variables = {"DATABASE_URL": url, "TEST_CALL_TIMEOUT": "1", "PETSERVICE_LOG_FORMAT": "json"}
        with service_with_test_endpoints(folder, **variables) as service:
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
