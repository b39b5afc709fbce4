"""A greenlet pool runs each call to its end, and no call blocks the others."""

import asyncio
import math
from contextvars import ContextVar
from functools import partial

import pytest
from django.db import connection

from pets.models import Pet
from pets.services import create_pet
from petservice.db.postgresql import base, latency
from petservice.db.postgresql.latency import MAX_SLOW_RESPONSES, TRIAL_INTERVAL
from petservice.db.waiting import waiter
from petservice.server.greenlets import GreenletPool, PooledGreenlet
from tests.server.greenlets.calls import only_on_postgresql, sleep

_number: ContextVar[int] = ContextVar("number", default=0)


def count() -> int:
    _number.set(_number.get() + 1)
    return _number.get()


def fail() -> None:
    raise ValueError("raised on purpose")


async def test_call_returns_the_result_of_the_function() -> None:
    pool = GreenletPool(1)
    assert await pool.call(partial(pow, 2, 5)) == 32
    with pytest.raises(ValueError, match="raised on purpose"):
        await pool.call(fail)
    assert await pool.call(partial(pow, 2, 6)) == 64


async def test_waiter_of_a_call_is_its_greenlet() -> None:
    pool = GreenletPool(2)
    one = await pool.call(waiter.get)
    assert isinstance(one, PooledGreenlet)
    assert not one.has_timed_out
    assert waiter.get() is None


async def test_context_variables_stay_in_their_greenlet() -> None:
    pool = GreenletPool(1)
    assert [await pool.call(count) for _ in range(3)] == [1, 2, 3]
    assert _number.get() == 0


@only_on_postgresql
@pytest.mark.django_db(transaction=True)
async def test_waiting_call_lets_other_calls_run() -> None:
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
    assert ended == ["quick"] * 20 + ["slow"]


async def lets_others_run(pool: GreenletPool) -> bool:
    """Return whether other callbacks run while a call waits for a response of the server."""

    def query() -> None:
        connection.ensure_connection()
        connection.connection.rows(b"SELECT 1", [])

    others: list[str] = []
    other = asyncio.get_running_loop().call_soon(others.append, "went on")
    await pool.call(query)
    other.cancel()
    return bool(others)


@only_on_postgresql
@pytest.mark.django_db(transaction=True)
async def test_call_polls_for_a_fast_server_and_lets_others_run_while_the_server_is_slow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # On a busy machine, any server seems slow. So the test decides what counts as fast.
    monkeypatch.setattr(base, "SPIN_MILLISECONDS", 60_000)
    slow, fast = 0, math.inf

    pool = GreenletPool(1)

    async def respond(count: int, limit: float) -> list[bool]:
        monkeypatch.setattr(latency, "FAST_RESPONSE_TIME", limit)
        return [await lets_others_run(pool) for _ in range(count)]

    await respond(1, fast)  # which connects
    monkeypatch.setattr(base.Connection, "_latency", latency.Latency())
    for _ in range(2 * MAX_SLOW_RESPONSES):
        # Slow responses between fast ones, such as those to commits, do not stop the polling.
        assert not any(await respond(1, slow) + await respond(1, fast))
    assert not any(await respond(MAX_SLOW_RESPONSES, slow))
    # From now on, a few are trials.
    assert (await respond(2 * TRIAL_INTERVAL, slow)).count(False) == 2
    # The next trial finds that the server is fast again.
    await respond(TRIAL_INTERVAL, fast)
    assert not any(await respond(TRIAL_INTERVAL, fast))
    pool.close()


@only_on_postgresql
@pytest.mark.django_db(transaction=True)
async def test_statement_that_is_larger_than_the_buffers_of_the_socket_arrives() -> None:
    size = 2**24

    def query() -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT length(%s)", ["x" * size])
            (length,) = cursor.fetchone()
        return length

    pool = GreenletPool(1)
    assert await pool.call(query) == size
    pool.close()


@only_on_postgresql
@pytest.mark.django_db(transaction=True)
async def test_calls_beyond_the_size_of_the_pool_wait_in_a_queue() -> None:
    pool = GreenletPool(2)
    assert await asyncio.gather(*(pool.call(partial(sleep, 0.01)) for _ in range(20))) == ["slept"] * 20
    pool.close()


@only_on_postgresql
@pytest.mark.django_db(transaction=True)
async def test_number_of_queued_calls_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("petservice.server.greenlets.MAX_QUEUED", 3)

    pool = GreenletPool(1)
    for _ in range(2):  # calls that have left the queue make room for others
        waiting = [asyncio.ensure_future(pool.call(partial(sleep, 0.2))) for _ in range(4)]
        await asyncio.sleep(0)  # the calls begin
        with pytest.raises(TimeoutError, match="3 calls wait"):
            await pool.call(count)
        waiting.pop().cancel()
        await asyncio.sleep(0)
        waiting.append(asyncio.ensure_future(pool.call(partial(sleep, 0.01))))
        assert await asyncio.gather(*waiting) == ["slept"] * 4
    pool.close()


@only_on_postgresql
@pytest.mark.django_db(transaction=True)
async def test_cancelled_call_that_already_runs_is_completed() -> None:
    def write() -> None:
        sleep(0.2)
        create_pet(name="Rex")

    pool = GreenletPool(1)
    left = asyncio.ensure_future(pool.call(write))
    queued = asyncio.ensure_future(pool.call(count))
    await asyncio.sleep(0.05)
    left.cancel()
    queued.cancel()
    assert await pool.call(Pet.objects.count) == 1
    pool.close()


@only_on_postgresql
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "has_greenlet", [False, True], ids=["before it gets the greenlet", "after it has got the greenlet"]
)
async def test_call_that_is_cancelled_when_a_greenlet_becomes_free_leaves_it_to_the_next(has_greenlet: bool) -> None:
    pool = GreenletPool(1, timeout=2)
    loop = asyncio.get_running_loop()

    def end() -> None:
        sleep(0.05)
        if has_greenlet:  # cancelled after the call gets the greenlet and before it uses it
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
